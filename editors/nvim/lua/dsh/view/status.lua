--- Words behind rows of a transcript that say where something stands, such as a branch of a round.
--- They are virtual text: what goes on then moves neither text nor cursor.

local api = vim.api
local namespace = api.nvim_create_namespace("dsh.status")

---@class (exact) dsh.view.Status
---@field private buf integer
---@field private anchors table<integer, integer> The extmarks of the rows, by their numbers.
---@field private shown table<integer, string> What is shown at each row.
---@field private marks table<string, integer> The extmarks that show it.
local Status = {}
Status.__index = Status

---@param buf integer
---@return dsh.view.Status
function Status.new(buf)
  return setmetatable({ buf = buf, anchors = {}, shown = {}, marks = {} }, Status)
end

--- Forgets all that is shown in a buffer.
---@param buf integer
function Status.clear(buf)
  api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
end

--- Takes over a row that has been written.
---@param row integer The number that it is known by.
---@param line integer From 0.
function Status:put(row, line)
  self.anchors[row] = api.nvim_buf_set_extmark(self.buf, namespace, line, 0, {})
end

---@param row integer
---@return integer line From 0.
function Status:line_of(row)
  return api.nvim_buf_get_extmark_by_id(self.buf, namespace, self.anchors[row], {})[1]
end

--- Shows a text in a line, or nothing more.
---@param name string
---@param line integer
---@param column integer
---@param virtual? string
---@param highlight string
function Status:set(name, line, column, virtual, highlight)
  if virtual then
    -- Inline text wraps with its line; text behind the line's end would be cut in a narrow window.
    self.marks[name] = api.nvim_buf_set_extmark(self.buf, namespace, line, column, {
      id = self.marks[name],
      virt_text = { { virtual, highlight } },
      virt_text_pos = "inline",
    })
  elseif self.marks[name] then
    api.nvim_buf_del_extmark(self.buf, namespace, self.marks[name])
    self.marks[name] = nil
  end
end

--- Shows words behind a row, and a mark where its text begins, unless they are there.
---@param row integer
---@param words? string
---@param highlight string
---@param mark? string
function Status:show(row, words, highlight, mark)
  local key = table.concat({ words or "", highlight, mark or "" }, "\0")
  if self.shown[row] == key then
    return
  end
  self.shown[row] = key
  local line = self:line_of(row)
  local text = api.nvim_buf_get_lines(self.buf, line, line + 1, false)[1]
  self:set("words" .. row, line, #text, words and " · " .. words, highlight)
  local start = #text:match("^ *")
  self:set("mark" .. row, line, start, mark and mark .. " ", highlight)
end

return Status
