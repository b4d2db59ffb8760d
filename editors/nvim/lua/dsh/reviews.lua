--- The reviews of a session, as the log tells them. Pure.

--- `lost`: its turn or its server ended before it came out. It may still come out, when the log is
--- repaired. `released`: it does not count, and its turn may be reviewed again.
---@alias dsh.reviews.State "running"|"lost"|"released"|"settled"

---@class (exact) dsh.reviews.Item
---@field said dsh.PacketItem
---@field state dsh.ReviewItemState

---@class (exact) dsh.Review
---@field id string
---@field by dsh.ReviewBy
---@field turn integer
---@field draft_seq? integer Seq of the message that it reads.
---@field state dsh.reviews.State
---@field began integer In epoch milliseconds.
---@field child? string Its child agent's session.
---@field released? dsh.ReleaseReason
---@field settled? dsh.ReviewSettled
---@field items dsh.reviews.Item[]
---@field changes integer How often anything of it has changed.

---@class (exact) dsh.Reviews
---@field private by_id table<string, dsh.Review>
---@field private running table<string, dsh.Review>
local Reviews = {}
Reviews.__index = Reviews

---@return dsh.Reviews
function Reviews.new()
  return setmetatable({ by_id = {}, running = {} }, Reviews)
end

---@param data dsh.ReviewClaimed
---@param time integer In epoch milliseconds.
---@return dsh.Review
function Reviews:begin(data, time)
  local review = {
    id = data.reviewId,
    by = data.by,
    turn = data.turn,
    draft_seq = data.draftSeq,
    state = "running",
    began = time,
    items = {},
    changes = 0,
  }
  self.by_id[review.id], self.running[review.id] = review, review
  return review
end

--- Gives a review another state. One whose claim was not seen is passed over, here and below.
---@param id string
---@param state? dsh.reviews.State
---@return dsh.Review?
function Reviews:change(id, state)
  local review = self.by_id[id]
  if review then
    review.state = state or review.state
    review.changes = review.changes + 1
    self.running[id] = review.state == "running" and review or nil
  end
  return review
end

---@param data dsh.ReviewChild
function Reviews:started(data)
  local review = self:change(data.reviewId)
  if review then
    review.child = data.childSessionId
  end
end

---@param data dsh.ReviewReleased
function Reviews:release(data)
  local review = self:change(data.reviewId, "released")
  if review then
    review.released = data.reason
  end
end

--- A second settlement says that what was found was not taken in. What was found stays.
---@param data dsh.ReviewSettled
function Reviews:settle(data)
  local review = self:change(data.reviewId, "settled")
  if not review then
    return
  end
  review.settled = data
  for place = #review.items + 1, #(data.items or {}) do
    review.items[place] = { said = data.items[place], state = "open" }
  end
end

---@param data dsh.ReviewItemChanged
function Reviews:set_item(data)
  local review = self:change(data.reviewId)
  local item = review and review.items[data.index + 1]
  if item then
    item.state = data.state
  end
end

--- Gives up the reviews that cannot come out any more: those of a turn that is over, or all when the
--- server is gone.
---@param by? dsh.ReviewBy Only those that were asked for so.
function Reviews:lose(by)
  for id, review in pairs(self.running) do
    if not by or review.by == by then
      self:change(id, "lost")
    end
  end
end

--- Whether any has not come out.
---@return boolean
function Reviews:are_running()
  return next(self.running) ~= nil
end

return Reviews
