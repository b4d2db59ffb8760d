--- What a person asks of reviews: that the last turn is reviewed, that each turn is, and where an
--- item stands. The log tells what becomes of it.

local M = {}

--- Has the last turn reviewed.
---@param session dsh.Session
function M.start(session)
  if not session.info then
    session.listener.failed("there is no answer yet that could be reviewed")
    return
  end
  session:when_ready(function()
    session:ask("review/start", { sessionId = session.info.sessionId }, function(problem)
      if problem then
        session:tell(problem, "no review was begun")
      end
    end)
  end)
end

--- Says where an item stands; said twice, it is open again.
---@param session dsh.Session
---@param review dsh.Review
---@param index integer From 1.
---@param state dsh.ReviewItemState
function M.set_item(session, review, index, state)
  if review.items[index].state == state then
    state = "open"
  end
  session:when_ready(function()
    local params = { reviewId = review.id, index = index - 1, state = state }
    session:ask("review/setItem", params, function(problem)
      if problem then
        session:tell(problem, "the item stays as it was")
      end
    end)
  end)
end

--- Whether each turn is reviewed, in words.
---@param enabled? boolean
---@return string
function M.described(enabled)
  if enabled == nil then
    return "turns cannot be reviewed: the row `tool-deliberation` is not there"
  elseif enabled then
    return "turns are reviewed before they end; `:Dsh review off` ends that"
  end
  return "turns are reviewed when you ask for it with `:Dsh review`; `:Dsh review on` does it always"
end

--- Has each turn reviewed, or none.
---@param session dsh.Session
---@param enabled boolean
---@param told fun(line: string) How it is then.
function M.set_auto(session, enabled, told)
  session:when_ready(function()
    session.auto_review:set(session.client, enabled, function(problem)
      if problem then
        session:tell(problem, "reviews stay as they were")
      else
        told(M.described(session.auto_review.enabled))
      end
    end)
  end)
end

return M
