--- A review in a transcript: one row, and below it what it found. Where the review and each of its
--- items stand is virtual text.

local Status = require("dsh.view.status")
local packet = require("dsh.view.packet")
local text = require("dsh.view.text")

--- How far in an item stands.
local INDENT = 4

---@class (exact) dsh.view.Review
---@field review dsh.Review
---@field private buf integer
---@field private status dsh.view.Status The review's row is 0, the items are counted from 1.
---@field private is_written boolean Whether the items stand below the row.
---@field private seen? integer How often the review had changed when it was last shown.
local Review = {}
Review.__index = Review

--- The row of a review as text.
---@param review dsh.Review
---@return string[]
function Review.lines(review)
  return { review.by == "user" and "◆ your review" or "◆ review" }
end

--- Takes over the row of a review that has just been written.
---@param buf integer
---@param at integer The line of the row, from 0.
---@param review dsh.Review
---@param targets dsh.view.Targets
---@return dsh.view.Review
function Review.new(buf, at, review, targets)
  local self = { review = review, buf = buf, status = Status.new(buf), is_written = false }
  setmetatable(self, Review)
  self.status:put(0, at)
  targets:put(at, { kind = "review", review = review })
  return self
end

--- A word of the wire as a person reads it.
---@param word string
---@return string
local function spoken(word)
  return (text.one_line(word, 60):gsub("[_-]", " "))
end

---@param settled dsh.ReviewSettled
---@param count integer
---@return string
local function found(settled, count)
  local words = ("%d %s"):format(count, count == 1 and "item" or "items")
  if settled.reason == "notice-step-failed" then
    return words .. " · the agent could not take it in"
  end
  return settled.published and words .. " · the agent is told" or words
end

--- How a review came out.
---@type table<dsh.ReviewStatus, fun(review: dsh.Review): string, string>
local outcomes = {
  update = function(review)
    return found(review.settled, #review.items), "DshNote"
  end,
  no_update = function()
    return "no update", "DshTool"
  end,
  failed = function(review)
    return "failed: " .. spoken(review.settled.reason or "unknown"), "DshTool"
  end,
  cancelled = function()
    return "cancelled", "DshTool"
  end,
}

--- Where a review stands: words and a highlight.
---@type table<dsh.reviews.State, fun(review: dsh.Review, now: integer): string, string>
local states = {
  running = function(review, now)
    local seconds = math.max(0, math.floor((now - review.began) / 1000))
    local time = ("%d:%02d"):format(math.floor(seconds / 60), seconds % 60)
    return "reads the answer again · " .. time, "DshTool"
  end,
  lost = function()
    return "did not come out", "DshTool"
  end,
  released = function(review)
    return "skipped: " .. spoken(review.released or "unknown"), "DshTool"
  end,
  settled = function(review)
    return outcomes[review.settled.status](review)
  end,
}

--- Where an item stands: a mark, a highlight, and words.
---@type table<dsh.ReviewItemState, [string, string, string?]>
local item_states = {
  open = { "○", "DshNote" },
  accepted = { "✓", "DshGood", "accepted" },
  dismissed = { "✗", "DshTool", "dismissed" },
}

--- Writes the items.
---@param insert fun(at: integer, lines: string[]) Writes lines before a line.
---@param targets dsh.view.Targets
function Review:write_items(insert, targets)
  local at = self.status:line_of(0) + 1
  for index, item in ipairs(self.review.items) do
    local said = item.said
    local first = said.refs and said.refs[1]
    local lines = packet.of_item(said, INDENT, function(ref)
      return { kind = "item", review = self.review, index = index, ref = ref or first }
    end)
    packet.write(self.buf, at, lines, insert, targets)
    self.status:put(index, at)
    at = at + #lines
  end
  self.is_written = true
end

--- Shows where the review stands. Returns whether lines were written.
---@param now integer In epoch milliseconds.
---@param insert fun(at: integer, lines: string[])
---@param targets dsh.view.Targets
---@return boolean
function Review:draw(now, insert, targets)
  local review = self.review
  if review.state ~= "running" and self.seen == review.changes then
    return false
  end
  self.seen = review.changes
  local words, highlight = states[review.state](review, now)
  self.status:show(0, words, highlight)
  local has_more = not self.is_written and #review.items > 0
  if has_more then
    self:write_items(insert, targets)
  end
  for index, item in ipairs(review.items) do
    local mark, group, state = unpack(item_states[item.state], 1, 3)
    self.status:show(index, state, group, mark)
  end
  return has_more
end

return Review
