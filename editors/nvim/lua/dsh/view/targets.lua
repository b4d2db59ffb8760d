--- What lines of a transcript lead to beside the citations in their text: a branch, a review, the
--- agent that a call started, a file. Each stays with its line while lines come and go above it.

local api = vim.api
local namespace = api.nvim_create_namespace("dsh.targets")

---@class (exact) dsh.view.Target.Branch
---@field kind "branch"
---@field round dsh.Round
---@field branch dsh.Branch

---@class (exact) dsh.view.Target.Round
---@field kind "round"
---@field round dsh.Round

---@class (exact) dsh.view.Target.Review
---@field kind "review"
---@field review dsh.Review

---@class (exact) dsh.view.Target.Item
---@field kind "item"
---@field review dsh.Review
---@field index integer Which item of it, from 1.
---@field ref? dsh.FileRef The place of this line, else the first one that the item names.

---@class (exact) dsh.view.Target.Call
---@field kind "call"
---@field call dsh.Entry
---@field child? string The child agent's session, where the result names it.

---@class (exact) dsh.view.Target.File
---@field kind "file"
---@field ref dsh.FileRef

---@alias dsh.view.Target
---| dsh.view.Target.Branch
---| dsh.view.Target.Round
---| dsh.view.Target.Review
---| dsh.view.Target.Item
---| dsh.view.Target.Call
---| dsh.view.Target.File

---@class (exact) dsh.view.Targets
---@field private buf integer
---@field private by_mark table<integer, dsh.view.Target>
local Targets = {}
Targets.__index = Targets

---@param buf integer
---@return dsh.view.Targets
function Targets.new(buf)
  api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  return setmetatable({ buf = buf, by_mark = {} }, Targets)
end

--- Says what a line leads to, in place of what it led to before.
---@param line integer From 0.
---@param target dsh.view.Target
function Targets:put(line, target)
  local place = { line, 0 }
  for _, mark in ipairs(api.nvim_buf_get_extmarks(self.buf, namespace, place, place, {})) do
    api.nvim_buf_del_extmark(self.buf, namespace, mark[1])
    self.by_mark[mark[1]] = nil
  end
  self.by_mark[api.nvim_buf_set_extmark(self.buf, namespace, line, 0, {})] = target
end

---@param line integer From 0.
---@return dsh.view.Target?
function Targets:at(line)
  local place = { line, 0 }
  local mark = api.nvim_buf_get_extmarks(self.buf, namespace, place, place, {})[1]
  return mark and self.by_mark[mark[1]]
end

return Targets
