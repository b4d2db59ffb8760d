--- Where each answer stands in a transcript, and which of them are drafts: a review still reads
--- them, and what it finds may change them.

local api = vim.api
local namespace = api.nvim_create_namespace("dsh.answers")

--- What is said above a draft.
local DRAFT = "draft: a review reads it"

---@class (exact) dsh.view.Answers
---@field private buf integer
---@field private rows table<integer, integer[]> The extmarks of the rows of each answer, by seq.
---@field private drafts table<integer, integer> The extmarks of the words above drafts, by seq.
local Answers = {}
Answers.__index = Answers

---@param buf integer
---@return dsh.view.Answers
function Answers.new(buf)
  api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  return setmetatable({ buf = buf, rows = {}, drafts = {} }, Answers)
end

--- Remembers where a part of an answer stands.
---@param seq integer
---@param first integer From 0.
---@param last integer
function Answers:put(seq, first, last)
  self.rows[seq] = self.rows[seq] or {}
  local mark = api.nvim_buf_set_extmark(self.buf, namespace, first, 0, { end_row = last })
  table.insert(self.rows[seq], mark)
end

--- The lines of an answer.
---@param seq integer
---@return { row: integer, text: string }[]
function Answers:lines_of(seq)
  local lines = {}
  for _, mark in ipairs(self.rows[seq] or {}) do
    local at = api.nvim_buf_get_extmark_by_id(self.buf, namespace, mark, { details = true })
    local texts = api.nvim_buf_get_lines(self.buf, at[1], at[3].end_row + 1, false)
    for number, line in ipairs(texts) do
      lines[#lines + 1] = { row = at[1] + number - 1, text = line }
    end
  end
  return lines
end

--- Says that an answer is a draft: in the empty line above it, so that nothing moves.
---@param seq integer
function Answers:show_draft(seq)
  local mark = self.rows[seq] and self.rows[seq][1]
  if mark then
    local first = api.nvim_buf_get_extmark_by_id(self.buf, namespace, mark, {})[1]
    self.drafts[seq] = api.nvim_buf_set_extmark(self.buf, namespace, math.max(first - 1, 0), 0, {
      virt_text = { { DRAFT, "DshNote" } },
      virt_text_pos = "inline",
    })
  end
end

--- Says of these answers that they are drafts, and of no other.
---@param seqs table<integer, boolean>
function Answers:show_drafts(seqs)
  for seq, mark in pairs(self.drafts) do
    if not seqs[seq] then
      api.nvim_buf_del_extmark(self.buf, namespace, mark)
      self.drafts[seq] = nil
    end
  end
  for seq in pairs(seqs) do
    if not self.drafts[seq] then
      self:show_draft(seq)
    end
  end
end

return Answers
