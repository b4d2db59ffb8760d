--- How each entry of a session is shown: one row of the table for each label.

local Review = require("dsh.view.review")
local Round = require("dsh.view.round")
local content = require("dsh.content")
local text = require("dsh.view.text")
local tools = require("dsh.view.tools")

--- Lines of the chat buffer.
---@class (exact) dsh.view.Row
---@field lines string[]
---@field highlight? string Group of the first line, or of all when nothing is folded.
---@field folded? boolean The first line stands for all of them.
---@field never_first? boolean Left out at the start of a session, where it says nothing new.
---@field close? boolean No empty line before it when its like stands above.

local M = {}

--- Lines that are told apart from an answer: in Markdown four blanks make them literal.
---@param lines string[]
---@param start string
---@return string[]
local function start_with(lines, start)
  local out = {}
  for _, line in ipairs(lines) do
    out[#out + 1] = (start .. line):gsub("%s+$", "")
  end
  return out
end

--- One line that opens to a text.
---@param title string
---@param body string[]
---@param highlight string
---@return dsh.view.Row
local function folded(title, body, highlight)
  local lines = start_with(body, "    ")
  table.insert(lines, 1, title)
  return { lines = lines, highlight = highlight, folded = true, close = true }
end

---@param line string
---@param highlight string
---@return dsh.view.Row
local function remark(line, highlight)
  return { lines = { text.one_line(line, 400) }, highlight = highlight }
end

---@param message dsh.Message
---@param root string
---@return string[]
local function input_lines(message, root)
  local lines = {}
  for _, block in ipairs(message.content) do
    local shown = content.of_block(block)
    if block.type == "resource" then
      local ok, path = pcall(vim.uri_to_fname, block.uri)
      path = ok and path or block.uri
      local inside = path:sub(1, #root + 1) == root .. "/" and path:sub(#root + 2) or path
      local range = block.range
      shown = range and ("`%s:%d-%d`"):format(inside, range.startLine, range.endLine)
        or ("`%s`"):format(inside)
    end
    vim.list_extend(lines, text.lines(shown))
  end
  return lines
end

---@param entry dsh.Entry
---@param root string
---@return dsh.view.Row
local function input(entry, root)
  local lines = start_with(input_lines(entry.message, root), "> ")
  return { lines = lines, highlight = "DshUser" }
end

--- What a person reads when a turn ends, by the kind of ending; nothing for the usual one.
---@type table<dsh.TurnEnd["kind"], fun(ending: any): string?>
local endings = {
  completed = function()
    return nil
  end,
  ["max-tokens"] = function()
    return "cut: the model's limit on the length of an answer is reached"
  end,
  blocked = function()
    return "blocked: a hook refused the prompt"
  end,
  aborted = function(ending)
    return ending.reason == "user" and "cancelled" or "cancelled: the session was closed"
  end,
  error = function(ending)
    return ("failed: %s %s"):format(ending.error.code, ending.error.message)
  end,
  interrupted = function()
    return "interrupted: the server ended in mid-turn; ask again to go on"
  end,
  limit = function(ending)
    return "stopped: the turn's budget is used up: " .. ending.what
  end,
}

---@param entry dsh.Entry
---@return dsh.view.Row
local function plain(entry)
  return { lines = text.lines(entry.text) }
end

---@type table<string, fun(entry: dsh.Entry, root: string): dsh.view.Row?>
local rows = {
  user = input,
  queued = function(entry, root)
    -- What a plugin says is shown when it is read.
    if entry.message.source.kind == "plugin" then
      return nil
    end
    local row = input(entry, root)
    row.lines[1] = row.lines[1] .. "  (waits)"
    return row
  end,
  notice = function(entry)
    local source = entry.message.source
    local title = source.kind == "plugin" and source.summary or entry.text
    return folded("▸ " .. text.one_line(title), text.lines(entry.text), "DshTool")
  end,
  say = plain,
  unsaid = plain,
  think = function(entry)
    local body = text.lines(entry.text)
    return folded(("▸ thought · %d lines"):format(#body), body, "DshTool")
  end,
  call = function(entry)
    local title = text.one_line("… " .. tools.title(entry))
    return { lines = { title }, highlight = "DshTool", close = true }
  end,
  done = function(entry)
    local ending = endings[entry.ending.kind]
    local line = ending and ending(entry.ending)
    return line and remark("✗ " .. line, "DshError")
  end,
  retry = function(entry)
    return remark("… asked again after: " .. entry.text, "DshTool")
  end,
  dropped = function(entry)
    return remark("✗ dropped: " .. entry.text, "DshTool")
  end,
  reason = function(entry)
    return remark("  " .. entry.text, "DshTool")
  end,
  model = function(entry)
    local row = remark("· model " .. entry.text, "DshTool")
    row.never_first = true
    return row
  end,
  round = function(entry)
    return { lines = Round.lines(entry.round), highlight = "DshTool", close = true }
  end,
  review = function(entry)
    return { lines = Review.lines(entry.review), highlight = "DshTool", close = true }
  end,
  inherited = function()
    return remark("· what stands above was inherited", "DshTool")
  end,
  replace = function(entry)
    return remark("· older messages were summed up: " .. entry.text, "DshTool")
  end,
}

--- How an entry is shown, if at all. Results are shown by `result`.
---@param entry dsh.Entry
---@param root string The workspace folder.
---@return dsh.view.Row?
function M.of_entry(entry, root)
  local row = rows[entry.label]
  return row and row(entry, root)
end

--- A call that has its result: it takes the place of the call's row.
---@param call dsh.Entry
---@param result dsh.Entry A `result` or an `error`.
---@return dsh.view.Row
function M.result(call, result)
  local title = text.one_line(tools.title(call))
  local body = text.lines(tools.body(call, result.text))
  if result.label == "error" then
    return folded(("✗ %s · %s"):format(title, text.one_line(result.text, 80)), body, "DshError")
  end
  local summary = tools.summary(call, result.value)
  return folded("▸ " .. title .. (summary and " · " .. summary or ""), body, "DshTool")
end

--- A command that a person typed, and later what it said.
---@param line string
---@param result? dsh.CommandRunResult
---@return dsh.view.Row
function M.command(line, result)
  if not result then
    return { lines = start_with(text.lines(line), "> "), highlight = "DshUser" }
  end
  local name = line:match("^%S+")
  local said = text.lines(result.text)
  local highlight = result.ok and "DshTool" or "DshError"
  if #said > 1 then
    return folded(("▸ %s · %d lines"):format(name, #said), said, highlight)
  end
  local line_said = ("%s %s · %s"):format(result.ok and "·" or "✗", name, said[1])
  return { lines = { line_said }, highlight = highlight }
end

--- A block of a draft that is no text: one line while it is written.
---@param block dsh.DraftBlock
---@return string
function M.draft_line(block)
  if block.kind == "reasoning" then
    return "… thinks"
  end
  return text.one_line("… " .. (block.name or "tool"))
end

return M
