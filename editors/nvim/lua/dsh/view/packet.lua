--- What child agents hand in, as lines below the row of whoever handed it in.

local text = require("dsh.view.text")

local api = vim.api
local highlights = api.nvim_create_namespace("dsh.packets")

--- One of those lines.
---@class (exact) dsh.view.packet.Line
---@field text string
---@field highlight? string
---@field target? dsh.view.Target What it leads to.

local M = {}

--- The lines of a statement, and of the places that it names.
---@param item dsh.PacketItem
---@param indent integer How far in they stand.
---@param target fun(ref?: dsh.FileRef): dsh.view.Target? What a line of it leads to.
---@return dsh.view.packet.Line[]
function M.of_item(item, indent, target)
  local lines = {}
  local function add(line, highlight, ref)
    local whole = ((" "):rep(indent) .. line):gsub("%s+$", "")
    lines[#lines + 1] = { text = whole, highlight = highlight, target = target(ref) }
  end
  local said = text.lines(item.content)
  add(("%s, %s: %s"):format(item.kind:gsub("_", " "), item.certainty, said[1]))
  for number = 2, #said do
    add("  " .. said[number])
  end
  for _, ref in ipairs(item.refs or {}) do
    local place = ref.line and ("%s:%d"):format(ref.path, ref.line) or ref.path
    local quote = ref.quote and ("  " .. text.one_line(ref.quote, 100)) or ""
    add("  → " .. text.one_line(place, 300) .. quote, "DshTool", ref)
  end
  return lines
end

--- Writes such lines.
---@param buf integer
---@param at integer Before which line, from 0.
---@param lines dsh.view.packet.Line[]
---@param insert fun(at: integer, lines: string[]) Writes lines before a line.
---@param targets dsh.view.Targets
function M.write(buf, at, lines, insert, targets)
  insert(
    at,
    vim.tbl_map(function(line)
      return line.text
    end, lines)
  )
  for place, line in ipairs(lines) do
    local own = at + place - 1
    if line.highlight then
      api.nvim_buf_set_extmark(buf, highlights, own, 0, { line_hl_group = line.highlight })
    end
    if line.target then
      targets:put(own, line.target)
    end
  end
end

--- Forgets all such lines of a buffer.
---@param buf integer
function M.clear(buf)
  api.nvim_buf_clear_namespace(buf, highlights, 0, -1)
end

return M
