--- A deliberation round in a transcript: one row for the round and one for each branch. Where a
--- branch stands is virtual text behind its row, so that a round that runs moves neither text nor
--- cursor. What came out is written below the rows when the round is over.

local Status = require("dsh.view.status")
local packet = require("dsh.view.packet")
local text = require("dsh.view.text")

--- How far in a branch stands.
local INDENT = 4

---@class (exact) dsh.view.Round
---@field round dsh.Round
---@field private buf integer
---@field private status dsh.view.Status The round's row is 0, the branches are counted from 1.
local Round = {}
Round.__index = Round

--- Words behind one another.
---@param ... string?
---@return string
local function joined(...)
  local words = {}
  for number = 1, select("#", ...) do
    words[#words + 1] = (select(number, ...))
  end
  return table.concat(words, " · ")
end

--- The rows of a round as text.
---@param round dsh.Round
---@return string[]
function Round.lines(round)
  local name = round.by == "user" and "◆ your deliberation" or "◆ deliberation"
  if round.goal then
    name = name .. ": " .. text.one_line(round.goal, 80)
  end
  local count = #round.branches
  local lines = { joined(name, ("%d %s"):format(count, count == 1 and "branch" or "branches")) }
  for _, branch in ipairs(round.branches) do
    local plan = branch.plan
    local line = joined(plan.label, plan.role, plan.history)
    lines[#lines + 1] = (" "):rep(INDENT) .. text.one_line(line, 200)
  end
  return lines
end

--- Takes over the rows of a round that have just been written.
---@param buf integer
---@param at integer The line of the first row, from 0.
---@param round dsh.Round
---@param targets dsh.view.Targets
---@return dsh.view.Round
function Round.new(buf, at, round, targets)
  local self = setmetatable({ buf = buf, round = round, status = Status.new(buf) }, Round)
  for number = 0, #round.branches do
    self.status:put(number, at + number)
  end
  targets:put(at, { kind = "round", round = round })
  for number, branch in ipairs(round.branches) do
    targets:put(at + number, { kind = "branch", round = round, branch = branch })
  end
  return self
end

--- `9:05 left`.
---@param branch dsh.Branch
---@param now integer
---@return string?
local function time_left(branch, now)
  local left = branch.deadline and math.max(0, math.ceil((branch.deadline - now) / 1000))
  return left and ("%d:%02d left"):format(math.floor(left / 60), left % 60)
end

--- What each state looks like: a mark, words and a highlight.
---@type table<string, fun(branch: dsh.Branch, now: integer): string, string, string>
local states = {
  starting = function(branch, now)
    return "…", joined("starts", time_left(branch, now)), "DshTool"
  end,
  running = function(branch, now)
    local activity = branch.activity and text.one_line(branch.activity, 40)
    return "…", joined(activity or "runs", time_left(branch, now)), "DshTool"
  end,
  lost = function()
    return "✗", "did not come out", "DshError"
  end,
  settled = function(branch)
    local found = branch.outcome and branch.outcome.packet
    if found and found.status == "no_update" then
      return "✓", "no update", "DshGood"
    elseif branch.stop_reason == "completed" then
      local count = found and #(found.items or {})
      local items = count and ("%d %s"):format(count, count == 1 and "item" or "items")
      return "✓", items or "completed", "DshGood"
    end
    return "✗", text.one_line(branch.stop_reason or "failed", 60), "DshError"
  end,
}

--- Where the round as a whole stands.
---@param round dsh.Round
---@return string words
---@return string highlight
local function summary(round)
  if round.state == "running" then
    return "runs", "DshTool"
  elseif round.state == "lost" then
    return "did not come out", "DshError"
  end
  local updates, failed = 0, 0
  for _, branch in ipairs(round.branches) do
    local found = branch.outcome and branch.outcome.packet
    updates = updates + (found and found.status == "update" and 1 or 0)
    failed = failed + (found and 0 or 1)
  end
  local words = joined(
    updates == 1 and "1 update" or updates > 1 and ("%d updates"):format(updates) or nil,
    failed > 0 and ("%d failed"):format(failed) or nil
  )
  return words ~= "" and words or "no update", failed > 0 and "DshError" or "DshGood"
end

--- Shows where the round and its branches stand.
---@param now integer In milliseconds.
function Round:draw(now)
  local words, highlight = summary(self.round)
  self.status:show(0, words, highlight)
  for number, branch in ipairs(self.round.branches) do
    local mark, state, group = states[branch.state](branch, now)
    self.status:show(number, state, group, mark)
  end
end

--- What is written below the row of a branch that came out.
---@param branch dsh.Branch
---@return dsh.view.packet.Line[]
local function outcome_lines(branch)
  local outcome = branch.outcome
  local lines = {}
  local function add(line, highlight)
    lines[#lines + 1] = { text = (" "):rep(2 * INDENT) .. line, highlight = highlight }
  end
  if not outcome then
    return lines
  end
  if outcome.diagnostic then
    for _, line in ipairs(text.lines(outcome.diagnostic)) do
      add(line, "DshError")
    end
  end
  for _, item in ipairs(outcome.packet and outcome.packet.items or {}) do
    local said = packet.of_item(item, 2 * INDENT, function(ref)
      return ref and { kind = "file", ref = ref }
    end)
    vim.list_extend(lines, said)
  end
  local dropped = outcome.droppedRefs or 0
  if dropped > 0 then
    local many = ("%d places that do not hold were left out"):format(dropped)
    add(dropped == 1 and "1 place that does not hold was left out" or many, "DshNote")
  end
  for _, note in ipairs(outcome.degraded or {}) do
    add(text.one_line(note, 300), "DshNote")
  end
  return lines
end

--- Writes what came out below each branch.
---@param insert fun(at: integer, lines: string[]) Writes lines before a line.
---@param targets dsh.view.Targets
function Round:finish(insert, targets)
  for number, branch in ipairs(self.round.branches) do
    local at = self.status:line_of(number) + 1
    packet.write(self.buf, at, outcome_lines(branch), insert, targets)
  end
end

return Round
