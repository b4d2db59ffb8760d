--- Messages, blocks and calls as text. Pure: no editor API but the JSON reader.

local M = {}

--- The arguments that tell most about a call, the first of them that is there.
local TELLING_ARGUMENTS = { "file_path", "pattern" }

--- The arguments of a call, or an empty table when the model wrote no JSON object.
---@param arguments string
---@return table<string, any>
function M.arguments(arguments)
  local ok, parsed = pcall(vim.json.decode, arguments)
  return ok and type(parsed) == "table" and parsed or {}
end

--- A call as its tool's name and its most telling argument, or all arguments as they were written.
---@param name string
---@param arguments string
---@return string
function M.of_call(name, arguments)
  local parsed = M.arguments(arguments)
  for _, argument in ipairs(TELLING_ARGUMENTS) do
    if type(parsed[argument]) == "string" then
      return name .. " " .. parsed[argument]
    end
  end
  return name .. " " .. arguments
end

--- Text as it is, anything else as a word in brackets.
---@param block dsh.ContentBlock
---@return string
function M.of_block(block)
  if block.type == "text" then
    return block.text
  elseif block.type == "image" then
    return ("[image %s]"):format(block.mediaType)
  elseif block.type == "resource" then
    local range = block.range
    local lines = range and (":%d-%d"):format(range.startLine, range.endLine) or ""
    return ("[resource %s%s]"):format(block.uri, lines)
  end
  return ("[%s]"):format(block.type)
end

--- Each block on lines of its own.
---@param blocks dsh.ContentBlock[]
---@return string
function M.of_blocks(blocks)
  local texts = {}
  for _, block in ipairs(blocks) do
    texts[#texts + 1] = M.of_block(block)
  end
  return table.concat(texts, "\n")
end

--- A message's text; a plugin's says whose it is.
---@param message dsh.Message
---@return string
function M.of_message(message)
  local text = M.of_blocks(message.content)
  if message.source.kind == "plugin" then
    return message.source.plugin .. ": " .. text
  end
  return text
end

--- The text without the blanks at its end.
---@param text string
---@return string
function M.trim_end(text)
  local last = #text
  -- Byte by byte from behind: a pattern with `$` would try every blank of a long text.
  while last > 0 and (" \t\r\n"):find(text:sub(last, last), 1, true) do
    last = last - 1
  end
  return text:sub(1, last)
end

--- The text with U+FFFD in place of each control character that a terminal would obey.
---@param text string
---@return string
function M.printable(text)
  return (text:gsub("[%z\1-\8\10-\31\127]", "\239\191\189"))
end

--- The lines of a text: no blanks at its end, no `\r` before a line end, nothing that is obeyed.
---@param text string
---@return string[]
function M.lines(text)
  local lines = {}
  for line in (M.trim_end(text):gsub("\r\n", "\n") .. "\n"):gmatch("(.-)\n") do
    lines[#lines + 1] = M.printable(line)
  end
  return lines
end

return M
