--- The chat buffer: writes what a model has gained since the last time and leaves the rest alone.
---
--- The buffer is the committed rows, then the lines of the draft. A call's row is marked, so that
--- its result finds it, and so are the rows of a review and of a round that runs; everything else is
--- written at the end, so an update costs what is new.

local Answers = require("dsh.view.answers")
local Evidence = require("dsh.view.evidence")
local Review = require("dsh.view.review")
local Round = require("dsh.view.round")
local Status = require("dsh.view.status")
local Targets = require("dsh.view.targets")
local packet = require("dsh.view.packet")
local rows = require("dsh.view.rows")
local text = require("dsh.view.text")
local tools = require("dsh.view.tools")

local api = vim.api
local marks = api.nvim_create_namespace("dsh.rows")
local folds = api.nvim_create_namespace("dsh.folds")

---@class (exact) dsh.view.Call
---@field entry dsh.Entry
---@field mark integer

---@class (exact) dsh.view.Buffer
---@field buf integer
---@field targets dsh.view.Targets
---@field evidence dsh.view.Evidence
---@field private root string
---@field private answers dsh.view.Answers
---@field private reviews dsh.view.Review[]
---@field private rounds dsh.view.Round[] Those that have not come out.
---@field private seen integer How many entries of the model are written.
---@field private tail integer The line, from 0, behind the committed rows.
---@field private last_close boolean Whether the last row is one that keeps close to its like.
---@field private calls table<string, dsh.view.Call> The calls that have no result yet.
---@field private draft? dsh.Draft The draft that is written.
---@field private block integer Which of its blocks is being written.
---@field private block_at integer The line of that block that may still change: its last one.
---@field private block_close boolean Whether it keeps close to its like.
---@field private pieces integer How many of its pieces are written.
---@field private text dsh.view.Text
local Buffer = {}
Buffer.__index = Buffer

---@param buf integer
---@param root string
---@return dsh.view.Buffer
function Buffer.new(buf, root)
  local self = setmetatable({ buf = buf, root = root }, Buffer)
  self:clear()
  return self
end

--- Writes lines in place of others; the only function that changes the buffer.
---@param from integer
---@param to integer
---@param lines string[]
function Buffer:set(from, to, lines)
  vim.bo[self.buf].modifiable = true
  api.nvim_buf_set_lines(self.buf, from, to, false, lines)
  vim.bo[self.buf].modifiable = false
end

--- Writes lines in place of committed ones; what follows them stays as it is.
---@param from integer
---@param to integer
---@param lines string[]
function Buffer:replace(from, to, lines)
  self:set(from, to, lines)
  local gained = #lines - (to - from)
  self.tail = self.tail + gained
  if self.draft then
    self.block_at = self.block_at + gained
  end
end

--- Writes lines before a committed one.
---@param at integer
---@param lines string[]
function Buffer:insert(at, lines)
  self:replace(at, at, lines)
end

--- Begins anew, for another session or another log.
function Buffer:clear()
  self.seen, self.tail, self.last_close = 0, 0, false
  self.calls, self.draft, self.reviews, self.rounds = {}, nil, {}, {}
  self.targets, self.answers = Targets.new(self.buf), Answers.new(self.buf)
  self.evidence = Evidence.new(self.buf, self.answers)
  Status.clear(self.buf)
  packet.clear(self.buf)
  api.nvim_buf_clear_namespace(self.buf, marks, 0, -1)
  api.nvim_buf_clear_namespace(self.buf, folds, 0, -1)
  self:set(0, -1, {})
end

--- Closes a range to one line in a window.
---@param win integer
---@param first integer
---@param last integer
local function fold(win, first, last)
  -- A person may have chosen another way to fold.
  if vim.wo[win].foldmethod == "manual" then
    api.nvim_win_call(win, function()
      vim.cmd(("%d,%dfold"):format(first + 1, last + 1))
    end)
  end
end

--- Makes the folds in a window that has just come to show the buffer: folds belong to windows.
---@param win integer
function Buffer:fold_all(win)
  for _, mark in ipairs(api.nvim_buf_get_extmarks(self.buf, folds, 0, -1, { details = true })) do
    local level = api.nvim_win_call(win, function()
      return vim.fn.foldlevel(mark[2] + 1)
    end)
    -- A window that showed the buffer before still has its folds.
    if level == 0 then
      fold(win, mark[2], mark[4].end_row)
    end
  end
end

--- Highlights and folds a row that is written.
---@param row dsh.view.Row
---@param at integer
---@return integer mark
function Buffer:dress(row, at)
  local last = at + #row.lines - 1
  if row.folded and #row.lines > 1 then
    api.nvim_buf_set_extmark(self.buf, folds, at, 0, { end_row = last })
    for _, win in ipairs(vim.fn.win_findbuf(self.buf)) do
      fold(win, at, last)
    end
  end
  local mark = 0
  if row.highlight then
    for line = at, row.folded and at or last do
      local options = { line_hl_group = row.highlight }
      mark = api.nvim_buf_set_extmark(self.buf, marks, line, 0, options)
    end
  end
  return mark
end

--- Whether an empty line stands between the committed rows and what follows.
---@param close? boolean
---@return boolean
function Buffer:has_gap(close)
  return self.tail > 0 and not (close and self.last_close)
end

--- Adds a row behind the committed ones. Lines of a draft that are the same stay as they are, so
--- that the eye and the cursor keep their place when an answer is committed.
---@param row dsh.view.Row
---@param over_draft boolean Whether it takes the place of the draft's lines.
---@return integer mark
function Buffer:append(row, over_draft)
  local lines = row.lines
  if self:has_gap(row.close) then
    lines = vim.list_extend({ "" }, lines)
  end
  -- The one line of an empty buffer gives way as well.
  local gives_way = over_draft or (self.tail == 0 and not self.draft)
  local old = gives_way and api.nvim_buf_get_lines(self.buf, self.tail, self.tail + #lines, false)
    or {}
  local same = 0
  while same < #lines and lines[same + 1] == old[same + 1] do
    same = same + 1
  end
  if same < #lines then
    self:set(self.tail + same, self.tail + #old, vim.list_slice(lines, same + 1))
  end
  self.tail = self.tail + #lines
  if self.draft and not over_draft then
    self.block_at = self.block_at + #lines
  end
  self.last_close = row.close or false
  return self:dress(row, self.tail - #row.lines)
end

--- Puts a result into the row of its call.
---@param result dsh.Entry
function Buffer:settle(result)
  local call = self.calls[result.call_id]
  if not call then
    return
  end
  self.calls[result.call_id] = nil
  local at = api.nvim_buf_get_extmark_by_id(self.buf, marks, call.mark, {})[1]
  api.nvim_buf_del_extmark(self.buf, marks, call.mark)
  local row = rows.result(call.entry, result)
  self:replace(at, at + 1, row.lines)
  self:dress(row, at)
  self:link(call.entry, at, result.value)
end

--- Says that the row of a call leads to the agent that the call started, if it did.
---@param call dsh.Entry
---@param at integer
---@param value any The value of its result, once it is there.
function Buffer:link(call, at, value)
  local child = type(value) == "table" and value.childSessionId
  if child or tools.starts_agent(call) then
    local target = { kind = "call", call = call, child = type(child) == "string" and child or nil }
    self.targets:put(at, target)
  end
end

--- Remembers what has just been written.
---@param entry dsh.Entry
---@param count integer How many lines it has.
---@param mark integer Of its first line.
function Buffer:wrote(entry, count, mark)
  local at = self.tail - count
  if entry.label == "call" then
    self.calls[entry.call_id] = { entry = entry, mark = mark }
    self:link(entry, at)
  elseif entry.label == "round" then
    self.rounds[#self.rounds + 1] = Round.new(self.buf, at, entry.round, self.targets)
  elseif entry.label == "review" then
    self.reviews[#self.reviews + 1] = Review.new(self.buf, at, entry.review, self.targets)
  elseif entry.label == "say" then
    self.answers:put(entry.seq, at, self.tail - 1)
  end
end

--- Brings the rounds up to date; what came out is written below the branches.
function Buffer:draw_rounds()
  local now = vim.uv.now()
  local running = {}
  for _, shown in ipairs(self.rounds) do
    shown:draw(now)
    if shown.round.state == "settled" then
      shown:finish(function(at, lines)
        self:insert(at, lines)
      end, self.targets)
      self.evidence:refresh()
    else
      running[#running + 1] = shown
    end
  end
  self.rounds = running
end

--- Brings the reviews up to date, and says which answers they still read.
function Buffer:draw_reviews()
  local seconds = vim.uv.gettimeofday()
  local drafts = {}
  for _, shown in ipairs(self.reviews) do
    local has_written = shown:draw(seconds * 1000, function(at, lines)
      self:insert(at, lines)
    end, self.targets)
    if has_written then
      self.evidence:refresh()
    end
    local seq = shown.review.state == "running" and shown.review.draft_seq
    if seq then
      drafts[seq] = true
    end
  end
  self.answers:show_drafts(drafts)
end

--- Writes the entries that are new.
---@param model dsh.Model
function Buffer:write_entries(model)
  local over_draft = self.draft ~= nil and self.draft ~= model.draft
  while self.seen < #model.entries do
    self.seen = self.seen + 1
    local entry = model.entries[self.seen]
    if entry.label == "result" or entry.label == "error" then
      self:settle(entry)
    elseif entry.label == "evidence" then
      self.evidence:show(entry.checked)
    else
      local row = rows.of_entry(entry, self.root)
      if row and not (row.never_first and self.tail == 0) then
        self:wrote(entry, #row.lines, self:append(row, over_draft))
      end
    end
  end
  if over_draft then
    self:set(self.tail, -1, {})
    self.draft = nil
  end
end

--- Writes what the draft has gained. Blocks come one after another, so only the last one grows.
---@param draft dsh.Draft
function Buffer:write_draft(draft)
  if not self.draft then
    self.draft, self.block, self.block_at = draft, 0, self.tail
  end
  for number = math.max(self.block, 1), #draft.blocks do
    local block = draft.blocks[number]
    if number > self.block then
      self:begin_block(number, block.kind ~= "text")
    end
    local lines = { rows.draft_line(block) }
    if block.kind == "text" then
      lines = self.text:feed(table.concat(block.pieces, "", self.pieces + 1))
      lines[#lines + 1] = self.text:unfinished()
    end
    self.pieces = #block.pieces
    self:set(self.block_at, self.block_at + 1, lines)
    self.block_at = self.block_at + #lines - 1
  end
end

--- Makes room for the next block of the draft.
---@param number integer
---@param close boolean
function Buffer:begin_block(number, close)
  local has_gap = self:has_gap(close)
  if number > 1 then
    self.block_at = self.block_at + 1
    has_gap = not (close and self.block_close)
  end
  if has_gap then
    self:set(self.block_at, self.block_at, { "" })
    self.block_at = self.block_at + 1
  end
  self.block, self.block_close, self.pieces = number, close, 0
  self.text = text.new()
end

--- Adds a row of the editor's own, such as that the server has ended. It is no part of the session.
---@param line string
---@param highlight string
function Buffer:note(line, highlight)
  self:add({ lines = text.lines(line), highlight = highlight })
end

--- The same with a row.
---@param row dsh.view.Row
function Buffer:add(row)
  self:following(function()
    self:append(row, false)
  end)
end

--- Changes the buffer; windows whose cursor is on the last line follow it, others stay.
---@param change fun()
function Buffer:following(change)
  local last = api.nvim_buf_line_count(self.buf)
  local at_end = vim.tbl_filter(function(win)
    return api.nvim_win_get_cursor(win)[1] == last
  end, vim.fn.win_findbuf(self.buf))
  change()
  local now = api.nvim_buf_line_count(self.buf)
  for _, win in ipairs(at_end) do
    api.nvim_win_set_cursor(win, { now, 0 })
  end
end

--- Shows what the model has gained.
---@param model dsh.Model
function Buffer:update(model)
  self:following(function()
    self:write_entries(model)
    self:draw_rounds()
    self:draw_reviews()
    if model.draft then
      self:write_draft(model.draft)
    end
  end)
end

return Buffer
