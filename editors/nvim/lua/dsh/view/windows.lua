--- The windows of a chat: the transcript, and below it a small one to type a prompt into.

local Page = require("dsh.view.page")
local config = require("dsh.config")
local scratch = require("dsh.view.scratch")
local text = require("dsh.view.text")

local api = vim.api

--- What the windows ask of a chat.
---@class (exact) dsh.view.Deeds
---@field send fun(prompt: string)
---@field cancel fun()
---@field set_item fun(state: dsh.ReviewItemState) Says where the item under the cursor stands.
---@field follow fun(target: dsh.view.Target) Shows another agent's work.

---@class (exact) dsh.view.Windows
---@field page dsh.view.Page
---@field transcript integer The buffer of the page.
---@field input integer The buffer.
---@field private deeds dsh.view.Deeds
local Windows = {}
Windows.__index = Windows

---@param root string
---@param deeds dsh.view.Deeds
---@return dsh.view.Windows
function Windows.new(root, deeds)
  local page = Page.new(root, "chat", deeds.follow)
  local self = setmetatable({
    page = page,
    transcript = page.buf,
    input = scratch.new(root, "prompt", "dsh-prompt"),
    deeds = deeds,
  }, Windows)
  self:map_keys()
  return self
end

function Windows:map_keys()
  for _, keys in ipairs({ "i", "a", "o" }) do
    scratch.map(self.transcript, "n", keys, "write a prompt", function()
      self:focus()
    end)
  end
  for keys, state in pairs({ ["+"] = "accepted", ["-"] = "dismissed" }) do
    scratch.map(self.transcript, "n", keys, "the item is " .. state .. ", or open again", function()
      self.deeds.set_item(state)
    end)
  end
  scratch.map(self.input, { "n", "i" }, "<CR>", "send the prompt", function()
    self:send()
  end)
  scratch.map(self.input, "i", "<C-j>", "begin a new line", "<CR>")
  for _, buf in ipairs({ self.transcript, self.input }) do
    scratch.map(buf, "n", "<C-c>", "cancel the answer", self.deeds.cancel)
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

--- The window of this tab page that shows the work of an agent that this chat started.
---@param transcript integer
---@return integer?
local function window_of_child(transcript)
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    if vim.b[api.nvim_win_get_buf(win)].dsh_chat == transcript then
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
  local other = not win and window_of_child(self.transcript)
  if other then
    win = other
    self.page:enter(win)
  elseif not win then
    vim.cmd("botright vsplit")
    win = api.nvim_get_current_win()
    self.page:enter(win)
    api.nvim_win_set_width(win, math.floor(vim.o.columns * config.get().width))
    api.nvim_win_set_cursor(win, { api.nvim_buf_line_count(self.transcript), 0 })
  end
  if not window_of(self.input) then
    api.nvim_set_current_win(win)
    vim.cmd("belowright 4split")
    local input = api.nvim_get_current_win()
    scratch.show(input, self.input)
    scratch.set(input, {
      number = false,
      relativenumber = false,
      signcolumn = "no",
      winbar = "%#DshTool#  ask about this folder · <CR> sends · <C-j> new line",
      winfixheight = true,
      wrap = true,
    })
    close_together(win, input)
  end
  api.nvim_set_current_win(before)
end

--- Shows the transcript in a window.
---@param win integer
function Windows:enter(win)
  self.page:enter(win)
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
  self.page:show_bar(badge and bar .. "  %#DshNote# " .. shown(badge) .. " %*" or bar)
end

return Windows
