--- The messages that wait or are claimed, followed through the splices of the log. Pure.

---@class (exact) dsh.Inbox
---@field private lists table<dsh.InboxTarget, dsh.Message[]>
---@field private claimed table<string, dsh.Message>
local Inbox = {}
Inbox.__index = Inbox

---@return dsh.Inbox
function Inbox.new()
  return setmetatable({ lists = { ["next-step"] = {}, ["next-turn"] = {} }, claimed = {} }, Inbox)
end

---@param list dsh.Message[]
---@param messages dsh.Message[]
local function put(list, messages)
  for _, message in ipairs(messages) do
    list[#list + 1] = message
  end
end

--- Applies a splice and returns what it removed. Places behind a list's end mean its end: the
--- stream may begin in the middle of a log.
---@param splice dsh.InboxSpliced
---@return dsh.Message[]
function Inbox:splice(splice)
  local before = self.lists[splice.target] or {}
  local start = math.min(splice.start, #before)
  local stop = math.min(splice.start + (splice.removedCount or 0), #before)
  local after, removed = {}, {}
  for place, message in ipairs(before) do
    if place == start + 1 then
      put(after, splice.inserted)
    end
    local list = place > start and place <= stop and removed or after
    list[#list + 1] = message
  end
  if start == #before then
    put(after, splice.inserted)
  end
  self.lists[splice.target] = after
  return removed
end

--- Keeps what a turn took until it is shown.
---@param messages dsh.Message[]
function Inbox:claim(messages)
  for _, message in ipairs(messages) do
    self.claimed[message.id] = message
  end
end

--- Takes a claimed message out: it is shown now.
---@param id string
---@return dsh.Message?
function Inbox:arrived(id)
  local message = self.claimed[id]
  self.claimed[id] = nil
  return message
end

--- Forgets what an earlier turn took and never showed.
function Inbox:forget_claimed()
  self.claimed = {}
end

return Inbox
