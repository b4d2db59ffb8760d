--- A deliberation round in a transcript: one row for the round and one for each branch. Where a
--- branch stands is virtual text behind its row, so that a round that runs moves neither text nor
--- cursor. What came out is written below the rows when the round is over.

local text = require("dsh.view.text")

local api = vim.api
local namespace = api.nvim_create_namespace("dsh.rounds")

--- Where the mark of a branch stands in its row.
local MARK_COLUMN = 4

---@class (exact) dsh.view.Round
---@field round dsh.Round
---@field private buf integer
---@field private anchors integer[] The extmarks of the rows: the round's, then the branches'.
---@field private shown table<integer, string> What is shown at each row.
---@field private marks table<string, integer> The extmarks that show it.
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
    lines[#lines + 1] = (" "):rep(MARK_COLUMN) .. text.one_line(line, 200)
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
  local self = { buf = buf, round = round, anchors = {}, shown = {}, marks = {} }
  setmetatable(self, Round)
  for number = 0, #round.branches do
    self.anchors[number + 1] = api.nvim_buf_set_extmark(buf, namespace, at + number, 0, {})
  end
  targets:put(at, { kind = "round", round = round })
  for number, branch in ipairs(round.branches) do
    targets:put(at + number, { kind = "branch", round = round, branch = branch })
  end
  return self
end

--- Forgets all rounds of a buffer.
---@param buf integer
function Round.clear(buf)
  api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
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
    local packet = branch.outcome and branch.outcome.packet
    if packet and packet.status == "no_update" then
      return "✓", "no update", "DshGood"
    elseif branch.stop_reason == "completed" then
      local count = packet and #(packet.items or {})
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
    local packet = branch.outcome and branch.outcome.packet
    updates = updates + (packet and packet.status == "update" and 1 or 0)
    failed = failed + (packet and 0 or 1)
  end
  local words = joined(
    updates == 1 and "1 update" or updates > 1 and ("%d updates"):format(updates) or nil,
    failed > 0 and ("%d failed"):format(failed) or nil
  )
  return words ~= "" and words or "no update", failed > 0 and "DshError" or "DshGood"
end

--- Shows words behind a row, and a mark in it, unless they are there.
---@param row integer Which row, from 1.
---@param words string
---@param highlight string
---@param mark? string
function Round:show(row, words, highlight, mark)
  local key = words .. highlight .. (mark or "")
  if self.shown[row] == key then
    return
  end
  self.shown[row] = key
  local line = self:line_of(row)
  local last = #api.nvim_buf_get_lines(self.buf, line, line + 1, false)[1]
  -- Inline text wraps with its line; text behind the line's end would be cut in a narrow window.
  local function put(name, column, virtual)
    self.marks[name] = api.nvim_buf_set_extmark(self.buf, namespace, line, column, {
      id = self.marks[name],
      virt_text = { { virtual, highlight } },
      virt_text_pos = "inline",
    })
  end
  put("words" .. row, last, " · " .. words)
  if mark then
    put("mark" .. row, MARK_COLUMN, mark .. " ")
  end
end

---@param row integer From 1.
---@return integer line From 0.
function Round:line_of(row)
  return api.nvim_buf_get_extmark_by_id(self.buf, namespace, self.anchors[row], {})[1]
end

--- Shows where the round and its branches stand.
---@param now integer In milliseconds.
function Round:draw(now)
  local words, highlight = summary(self.round)
  self:show(1, words, highlight)
  for number, branch in ipairs(self.round.branches) do
    local mark, state, group = states[branch.state](branch, now)
    self:show(number + 1, state, group, mark)
  end
end

---@class (exact) dsh.view.round.Line
---@field text string
---@field highlight? string
---@field ref? dsh.FileRef What it leads to.

--- One statement of a packet, and the places that it names.
---@param item dsh.PacketItem
---@param add fun(line: string, highlight?: string, ref?: dsh.FileRef)
local function add_item(item, add)
  local kind = item.kind:gsub("_", " ")
  local lines = text.lines(item.content)
  add(("%s, %s: %s"):format(kind, item.certainty, lines[1]))
  for number = 2, #lines do
    add("  " .. lines[number])
  end
  for _, ref in ipairs(item.refs or {}) do
    local place = ref.line and ("%s:%d"):format(ref.path, ref.line) or ref.path
    local quote = ref.quote and ("  " .. text.one_line(ref.quote, 100)) or ""
    add("  → " .. text.one_line(place, 300) .. quote, "DshTool", ref)
  end
end

--- What is written below the row of a branch that came out.
---@param branch dsh.Branch
---@return dsh.view.round.Line[]
local function outcome_lines(branch)
  local outcome = branch.outcome
  local lines = {}
  local function add(line, highlight, ref)
    local whole = ((" "):rep(2 * MARK_COLUMN) .. line):gsub("%s+$", "")
    lines[#lines + 1] = { text = whole, highlight = highlight, ref = ref }
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
    add_item(item, add)
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
    local lines = outcome_lines(branch)
    local at = self:line_of(number + 1) + 1
    local texts = vim.tbl_map(function(line)
      return line.text
    end, lines)
    insert(at, texts)
    for place, line in ipairs(lines) do
      if line.highlight then
        local options = { line_hl_group = line.highlight }
        api.nvim_buf_set_extmark(self.buf, namespace, at + place - 1, 0, options)
      end
      if line.ref then
        targets:put(at + place - 1, { kind = "file", ref = line.ref })
      end
    end
  end
end

return Round
