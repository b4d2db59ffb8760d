--- The windows of a chat: the transcript, and below it a small one to type a prompt into.

local citation = require("dsh.view.citation")
local config = require("dsh.config")
local content = require("dsh.content")
local text = require("dsh.view.text")

local api = vim.api

--- What the windows ask of a chat.
---@class (exact) dsh.view.Deeds
---@field send fun(prompt: string)
---@field cancel fun()
---@field shown fun(win: integer) A window has just come to show the transcript.

---@class (exact) dsh.view.Windows
---@field transcript integer The buffer.
---@field input integer The buffer.
---@field private root string
---@field private bar string
---@field private deeds dsh.view.Deeds
local Windows = {}
Windows.__index = Windows

for group, link in pairs({
  DshUser = "Title",
  DshTool = "Comment",
  DshError = "DiagnosticError",
  DshNote = "DiagnosticWarn",
}) do
  api.nvim_set_hl(0, group, { link = link, default = true })
end

--- A buffer that is no file. Text that names editor options must not set any.
---@param root string
---@param name string
---@param filetype string
---@return integer
local function scratch(root, name, filetype)
  local buf = api.nvim_create_buf(false, true)
  -- Two folders may have the same last name; then the second one is named in full.
  if not pcall(api.nvim_buf_set_name, buf, ("dsh://%s/%s"):format(vim.fs.basename(root), name)) then
    api.nvim_buf_set_name(buf, ("dsh://%s/%s"):format(root, name))
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
local function map(buf, modes, keys, what, deed)
  vim.keymap.set(modes, keys, deed, { buffer = buf, desc = "dsh: " .. what })
end

---@param win integer
---@param options table<string, any>
local function set(win, options)
  for name, value in pairs(options) do
    api.nvim_set_option_value(name, value, { win = win, scope = "local" })
  end
end

---@param root string
---@param deeds dsh.view.Deeds
---@return dsh.view.Windows
function Windows.new(root, deeds)
  local self = setmetatable({
    transcript = scratch(root, "chat", "markdown"),
    input = scratch(root, "prompt", "dsh-prompt"),
    root = root,
    bar = "",
    deeds = deeds,
  }, Windows)
  vim.bo[self.transcript].modifiable = false
  vim.bo[self.transcript].undolevels = -1
  self:map_keys()
  api.nvim_create_autocmd("BufWinEnter", {
    buffer = self.transcript,
    callback = function()
      self:dress(api.nvim_get_current_win())
    end,
  })
  return self
end

function Windows:map_keys()
  for _, keys in ipairs({ "gf", "<CR>" }) do
    map(self.transcript, "n", keys, "open the citation", function()
      self:jump()
    end)
  end
  for _, keys in ipairs({ "i", "a", "o" }) do
    map(self.transcript, "n", keys, "write a prompt", function()
      self:focus()
    end)
  end
  map(self.input, { "n", "i" }, "<CR>", "send the prompt", function()
    self:send()
  end)
  map(self.input, "i", "<C-j>", "begin a new line", "<CR>")
  for _, buf in ipairs({ self.transcript, self.input }) do
    map(buf, "n", "<C-c>", "cancel the answer", self.deeds.cancel)
  end
end

--- Opens the citation under the cursor, or opens and closes the fold there.
function Windows:jump()
  local row, column = unpack(api.nvim_win_get_cursor(0))
  if vim.fn.foldclosed(row) ~= -1 then
    vim.cmd("normal! zo")
    return
  end
  local place = citation.of_match(self.transcript, row)
    or citation.at(api.nvim_get_current_line(), column)
  if place then
    local refusal = citation.open(self.root, place)
    if refusal then
      vim.notify("dsh: " .. content.printable(refusal), vim.log.levels.WARN)
    end
  elseif vim.fn.foldlevel(row) > 0 then
    vim.cmd("normal! zc")
  else
    vim.notify("dsh: no citation such as path:line on this line", vim.log.levels.WARN)
  end
end

--- Sends what was typed and empties the input.
function Windows:send()
  local prompt = table.concat(api.nvim_buf_get_lines(self.input, 0, -1, false), "\n")
  if vim.trim(prompt) ~= "" then
    api.nvim_buf_set_lines(self.input, 0, -1, false, {})
    self.deeds.send(prompt)
  end
end

--- Prepares a window that has come to show the transcript.
---@param win integer
function Windows:dress(win)
  set(win, {
    breakindent = true,
    fillchars = "fold: ,eob: ",
    foldenable = true,
    foldlevel = 0,
    foldmethod = "manual",
    foldtext = "",
    linebreak = true,
    list = false,
    number = false,
    relativenumber = false,
    signcolumn = "no",
    spell = false,
    winbar = self.bar,
    wrap = true,
  })
  self.deeds.shown(win)
end

--- The window of this tab page that shows a buffer.
---@param buf integer
---@return integer?
local function window_of(buf)
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    if api.nvim_win_get_buf(win) == buf then
      return win
    end
  end
end

--- The input goes when its transcript goes.
---@param win integer
---@param input integer
local function close_together(win, input)
  api.nvim_create_autocmd("WinClosed", {
    pattern = tostring(win),
    once = true,
    callback = vim.schedule_wrap(function()
      if api.nvim_win_is_valid(input) and #api.nvim_tabpage_list_wins(0) > 1 then
        api.nvim_win_close(input, true)
      end
    end),
  })
end

--- Opens the windows where they are not open. The cursor stays where it is.
function Windows:open()
  local before = api.nvim_get_current_win()
  local win = window_of(self.transcript)
  if not win then
    vim.cmd("botright vsplit")
    win = api.nvim_get_current_win()
    -- A new window takes after the one that the cursor was in.
    set(win, { winfixbuf = false })
    api.nvim_win_set_buf(win, self.transcript)
    api.nvim_win_set_width(win, math.floor(vim.o.columns * config.get().width))
    api.nvim_win_set_cursor(win, { api.nvim_buf_line_count(self.transcript), 0 })
    set(win, { winfixbuf = true })
  end
  if not window_of(self.input) then
    api.nvim_set_current_win(win)
    vim.cmd("belowright 4split")
    local input = api.nvim_get_current_win()
    set(input, { winfixbuf = false })
    api.nvim_win_set_buf(input, self.input)
    set(input, {
      number = false,
      relativenumber = false,
      signcolumn = "no",
      winbar = "%#DshTool#  ask about this folder · <CR> sends · <C-j> new line",
      winfixbuf = true,
      winfixheight = true,
      wrap = true,
    })
    close_together(win, input)
  end
  api.nvim_set_current_win(before)
end

--- Opens the windows and goes where a prompt is typed.
function Windows:focus()
  self:open()
  api.nvim_set_current_win(assert(window_of(self.input)))
  vim.cmd("startinsert!")
end

--- Whether both buffers are there, with their text.
---@return boolean
function Windows:are_whole()
  return api.nvim_buf_is_loaded(self.transcript) and api.nvim_buf_is_loaded(self.input)
end

--- Gives the buffers up, with the windows that show them.
function Windows:remove()
  for _, buf in ipairs({ self.transcript, self.input }) do
    if api.nvim_buf_is_valid(buf) then
      api.nvim_buf_delete(buf, { force = true })
    end
  end
end

--- Shows what the session is doing above the transcript.
---@param words string[]
---@param badge? string Shown with emphasis.
function Windows:show_status(words, badge)
  local function shown(word)
    return (text.one_line(word):gsub("%%", "%%%%"))
  end
  local bar = "%#DshTool#  dsh · " .. shown(table.concat(words, " · "))
  self.bar = badge and bar .. "  %#DshNote# " .. shown(badge) .. " %*" or bar
  for _, win in ipairs(vim.fn.win_findbuf(self.transcript)) do
    set(win, { winbar = self.bar })
  end
end

return Windows
