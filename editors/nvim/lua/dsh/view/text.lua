--- Text that arrives in pieces, as lines that a buffer can hold: no line end or control character
--- inside, none so long that drawing it is slow.

local content = require("dsh.content")

--- Longer lines are broken: drawing and highlighting cost grows with a line's length.
local MAX_LINE_BYTES = 2000

---@class (exact) dsh.view.Text
---@field private rest string What stands behind the last line end.
local Text = {}
Text.__index = Text

---@return dsh.view.Text
function Text.new()
  return setmetatable({ rest = "" }, Text)
end

--- The start of `text` with at most `most` bytes that ends between characters.
---@param text string
---@param most integer
---@return string
local function head(text, most)
  if #text <= most then
    return text
  end
  -- Bytes 0x80–0xBF go on with a character.
  while most > 1 and text:byte(most + 1) >= 0x80 and text:byte(most + 1) < 0xC0 do
    most = most - 1
  end
  return text:sub(1, most)
end

--- Takes a piece and returns the lines that will not change any more.
---@param piece string
---@return string[]
function Text:feed(piece)
  local settled = {}
  local text = self.rest .. piece
  local start, stop = 1, 0
  while true do
    if stop < start then
      stop = text:find("\n", start, true) or #text + 1
    end
    if stop - start > MAX_LINE_BYTES then
      local line = head(text:sub(start, start + MAX_LINE_BYTES), MAX_LINE_BYTES)
      settled[#settled + 1] = content.printable(line)
      start = start + #line
    elseif stop <= #text then
      settled[#settled + 1] = content.printable((text:sub(start, stop - 1):gsub("\r$", "")))
      start = stop + 1
    else
      self.rest = text:sub(start)
      return settled
    end
  end
end

--- The line that is not ended yet.
---@return string
function Text:unfinished()
  return content.printable((self.rest:gsub("\r$", "")))
end

local M = { new = Text.new }

--- The lines of a whole text, without blanks at its end.
---@param whole string
---@return string[]
function M.lines(whole)
  local text = Text.new()
  local lines = text:feed(content.trim_end(whole))
  lines[#lines + 1] = text:unfinished()
  return lines
end

--- A text on one line, cut to `most` bytes.
---@param text string
---@param most? integer Default 120.
---@return string
function M.one_line(text, most)
  local line = content.printable((content.trim_end(text):gsub("%s+", " ")))
  local cut = head(line, most or 120)
  return #cut < #line and cut .. "…" or line
end

return M
