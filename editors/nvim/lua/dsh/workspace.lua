--- Which folder a command means, and the chat of each folder.

local Chat = require("dsh.chat")
local config = require("dsh.config")

local M = {}

---@type table<string, dsh.Chat>
local chats = {}

--- The folder of a buffer: as set, else the root of its project, else that of the current folder's
--- project, else the current folder.
---@param buf integer
---@return string
local function root_of(buf)
  local own = config.get()
  local root = own.root
  if type(root) == "function" then
    root = root(buf)
  end
  local file = vim.bo[buf].buftype == "" and vim.api.nvim_buf_get_name(buf) or ""
  if not root and file ~= "" then
    root = vim.fs.root(file, own.root_markers)
  end
  local here = vim.fn.getcwd()
  root = root or vim.fs.root(here, own.root_markers) or here
  local path = vim.fs.normalize(vim.fn.fnamemodify(root, ":p"))
  return #path > 1 and path:gsub("/$", "") or path
end

--- The chat of the window that the cursor is in, if it is one.
---@param buf integer
---@return dsh.Chat?
local function chat_of(buf)
  for _, chat in pairs(chats) do
    if chat:has(buf) then
      return chat
    end
  end
end

--- The chat that a command means: the one that the cursor is in, else that of the folder.
---@return dsh.Chat
function M.chat()
  local buf = vim.api.nvim_get_current_buf()
  local chat = chat_of(buf)
  if not chat then
    local root = root_of(buf)
    chat = chats[root] or Chat.new(root)
    chats[root] = chat
  end
  chat:revive()
  return chat
end

--- The chats that there are, by folder.
---@return table<string, dsh.Chat>
function M.all()
  return chats
end

return M
