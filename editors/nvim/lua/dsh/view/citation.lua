--- Citations such as `src/lib.rs:8` in the chat buffer: finds them and opens what they name, but
--- nothing outside the workspace, wherever a model's answer points.

local uv = vim.uv

local M = {}

--- A place in a file.
---@class (exact) dsh.view.Citation
---@field path string As it is written.
---@field line? integer

--- What a path in a text is made of.
local PATH = "[^%s`'\"<>()%[%]{}|,;:*]+"

---@param line string
---@return { first: integer, last: integer, path: string, line: integer }[]
local function citations(line)
  local found = {}
  local start = 1
  while true do
    local first, last, path, number = line:find("(" .. PATH .. "):(%d+)", start)
    if not first then
      return found
    end
    found[#found + 1] = { first = first, last = last, path = path, line = tonumber(number) }
    start = last + 1
  end
end

--- The citation at a column, else the line's first one.
---@param line string
---@param column integer From 0, in bytes.
---@return dsh.view.Citation?
function M.at(line, column)
  local all = citations(line)
  for _, citation in ipairs(all) do
    if column + 1 >= citation.first and column + 1 <= citation.last then
      return { path = citation.path, line = citation.line }
    end
  end
  if all[1] then
    return { path = all[1].path, line = all[1].line }
  end
end

--- The citation of a line in a `grep` result: the file is named once above its matches.
---@param buf integer
---@param row integer From 1.
---@return dsh.view.Citation?
function M.of_match(buf, row)
  local lines = vim.api.nvim_buf_get_lines(buf, math.max(0, row - 300), row, false)
  local number = lines[#lines]:match("^%s+Line (%d+): ")
  for at = number and #lines - 1 or 0, 1, -1 do
    local path = lines[at]:match("^    (%S.*)$")
    if path then
      return { path = path, line = tonumber(number) }
    end
  end
end

--- The file that a citation names, or why it is not opened.
---@param root string
---@param path string
---@return string? file
---@return string? refusal
function M.resolve(root, path)
  local joined = path:sub(1, 1) == "/" and path or root .. "/" .. path
  -- Links and `..` are followed before the comparison.
  local file, base = uv.fs_realpath(joined), uv.fs_realpath(root)
  if not file or not base then
    return nil, ("%s: there is no such file in %s"):format(path, root)
  end
  if file:sub(1, #base + 1) ~= base .. "/" then
    return nil, ("%s is outside the workspace and is not opened"):format(path)
  end
  local stat = uv.fs_stat(file)
  if not stat or stat.type ~= "file" then
    return nil, ("%s is no regular file and is not opened"):format(path)
  end
  return root .. file:sub(#base + 1)
end

--- Goes to a window of this tab page for files: the last one, else any, else a new one.
function M.enter_file_window()
  local candidates = { vim.fn.win_getid(vim.fn.winnr("#")) }
  vim.list_extend(candidates, vim.api.nvim_tabpage_list_wins(0))
  for _, win in ipairs(candidates) do
    if win ~= 0 and vim.api.nvim_win_get_config(win).relative == "" then
      if vim.bo[vim.api.nvim_win_get_buf(win)].buftype == "" and not vim.wo[win].winfixbuf then
        vim.api.nvim_set_current_win(win)
        return
      end
    end
  end
  vim.cmd("topleft vnew")
end

--- Opens a citation in a window for files and goes there. Returns why not, if not.
---@param root string
---@param citation dsh.view.Citation
---@return string? refusal
function M.open(root, citation)
  local file, refusal = M.resolve(root, citation.path)
  if not file then
    return refusal
  end
  M.enter_file_window()
  vim.cmd("normal! m'")
  local buf = vim.fn.bufadd(file)
  vim.bo[buf].buflisted = true
  local ok, problem = pcall(vim.api.nvim_win_set_buf, 0, buf)
  if not ok then
    return tostring(problem)
  end
  local last = vim.api.nvim_buf_line_count(buf)
  vim.api.nvim_win_set_cursor(0, { math.max(1, math.min(citation.line or 1, last)), 0 })
  vim.cmd("normal! zvzz")
end

return M
