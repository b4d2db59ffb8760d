--- Which buffers the server hears of: the ordinary files below its folder, saved or not. What it
--- hears is what the agent's tools read.

local M = {}

local api = vim.api

--- The ticks of the buffers of each server when they were last asked for.
---@type table<integer, table<integer, integer>>
local told = {}

---@param id integer
---@return string
local function group_of(id)
  return "dsh.documents." .. id
end

--- Whether a buffer is a loaded file below a folder.
---@param buf integer
---@param root string
---@return boolean
local function belongs(buf, root)
  if not api.nvim_buf_is_loaded(buf) or vim.bo[buf].buftype ~= "" then
    return false
  end
  local name = vim.fs.normalize(api.nvim_buf_get_name(buf))
  return name:sub(1, #root + 1) == root .. "/"
end

--- Tells a server of the files that are open, and of those that will be.
---@param id integer The language client.
---@param root string
function M.watch(id, root)
  local function attach(buf)
    if api.nvim_buf_is_valid(buf) and belongs(buf, root) then
      vim.lsp.buf_attach_client(buf, id)
    end
  end
  api.nvim_create_autocmd({ "BufReadPost", "BufNewFile", "BufFilePost" }, {
    group = api.nvim_create_augroup(group_of(id), { clear = true }),
    -- Later: by then the file type, which the server is told as the language, is known.
    callback = function(event)
      vim.schedule(function()
        attach(event.buf)
      end)
    end,
  })
  for _, buf in ipairs(api.nvim_list_bufs()) do
    attach(buf)
  end
end

---@param id integer
function M.unwatch(id)
  pcall(api.nvim_del_augroup_by_name, group_of(id))
  told[id] = nil
end

--- The buffers of a server that were changed since this was last asked.
---@param client vim.lsp.Client
---@return integer[]
function M.changed(client)
  local before = told[client.id] or {}
  local now, changed = {}, {}
  for buf in pairs(client.attached_buffers) do
    if api.nvim_buf_is_valid(buf) then
      now[buf] = api.nvim_buf_get_changedtick(buf)
      changed[#changed + 1] = now[buf] ~= before[buf] and buf or nil
    end
  end
  told[client.id] = now
  return changed
end

return M
