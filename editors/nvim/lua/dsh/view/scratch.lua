--- Buffers that are no files, and the windows that show them.

local api = vim.api

local M = {}

--- A buffer that is no file. Text that names editor options must not set any.
---@param root string
---@param name string
---@param filetype string
---@return integer
function M.new(root, name, filetype)
  local buf = api.nvim_create_buf(false, true)
  -- Two folders may have the same last name; then the second one is named in full.
  if not pcall(api.nvim_buf_set_name, buf, ("dsh://%s/%s"):format(vim.fs.basename(root), name)) then
    pcall(api.nvim_buf_set_name, buf, ("dsh://%s/%s"):format(root, name))
  end
  vim.bo[buf].bufhidden = "hide"
  vim.bo[buf].swapfile = false
  vim.bo[buf].modeline = false
  -- What others do on a file type may fail; the chat works without it.
  pcall(api.nvim_set_option_value, "filetype", filetype, { buf = buf })
  return buf
end

---@param buf integer
---@param modes string|string[]
---@param keys string
---@param what string
---@param deed string|fun() Keys are taken as they are without a mapping.
function M.map(buf, modes, keys, what, deed)
  vim.keymap.set(modes, keys, deed, { buffer = buf, desc = "dsh: " .. what })
end

--- Sets options of a window. Those that are so already are left alone: to set `foldlevel` closes
--- folds that a person has opened.
---@param win integer
---@param options table<string, any>
function M.set(win, options)
  local place = { win = win, scope = "local" }
  for name, value in pairs(options) do
    if api.nvim_get_option_value(name, place) ~= value then
      api.nvim_set_option_value(name, value, place)
    end
  end
end

--- Shows a buffer in a window and keeps others from taking its place.
---@param win integer
---@param buf integer
function M.show(win, buf)
  -- A new window takes after the one that the cursor was in.
  M.set(win, { winfixbuf = false })
  api.nvim_win_set_buf(win, buf)
  M.set(win, { winfixbuf = true })
end

return M
