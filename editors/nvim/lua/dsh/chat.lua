--- One conversation with one folder: shows what its session tells.

local Buffer = require("dsh.view.buffer")
local Session = require("dsh.session")
local Windows = require("dsh.view.windows")

--- The view is brought up to date at most this often.
local FRAME_MS = 33

--- What each status is called where a person reads it.
---@type table<"asleep"|dsh.session.Status, string>
local WORDS = {
  asleep = "not started",
  starting = "starts",
  idle = "ready",
  running = "works",
  parked = "prompts wait: ask to go on",
  ended = "the server has ended",
  missing = "no server: see :checkhealth dsh",
}

---@class (exact) dsh.Chat
---@field session dsh.Session
---@field windows dsh.view.Windows
---@field status "asleep"|dsh.session.Status
---@field private buffer dsh.view.Buffer
---@field private timer uv.uv_timer_t
---@field private drawn_at integer
local Chat = {}
Chat.__index = Chat

---@param root string
---@return dsh.Chat
function Chat.new(root)
  local self = setmetatable({
    timer = assert(vim.uv.new_timer()),
    drawn_at = 0,
    status = "asleep",
  }, Chat)
  self.session = Session.new(root, {
    grown = function()
      self:draw_soon()
    end,
    emptied = function()
      if self.windows:are_whole() then
        self.buffer:clear()
      end
    end,
    said = function(status)
      self.status = status
      self:show_status()
    end,
    failed = function(line)
      if self.windows:are_whole() then
        self:draw()
        self.buffer:note("✗ " .. line, "DshError")
      else
        vim.notify("dsh: " .. line, vim.log.levels.ERROR)
      end
    end,
  })
  self:make_windows()
  return self
end

--- Makes the buffers of the chat and shows in them what there is.
function Chat:make_windows()
  self.windows = Windows.new(self.session.root, {
    send = function(prompt)
      self.session:prompt({ { type = "text", text = prompt } })
    end,
    cancel = function()
      self:cancel()
    end,
    shown = function(win)
      self.buffer:fold_all(win)
    end,
  })
  self.buffer = Buffer.new(self.windows.transcript, self.session.root)
  self:show_status()
  self:draw()
end

--- Makes the buffers anew if a person has wiped them out.
function Chat:revive()
  if not self.windows:are_whole() then
    self.windows:remove()
    self:make_windows()
  end
end

--- Shows above the transcript which model is asked and what the session does.
function Chat:show_status()
  local model = self.session.models:asked(self.session.info)
  local is_offline = model and vim.startswith(model, "offline/")
  local words = { WORDS[self.status] or self.status, model }
  self.windows:show_status(words, is_offline and "offline" or nil)
end

--- Stops the running answer.
function Chat:cancel()
  if not self.session:cancel() then
    vim.notify("dsh: nothing is running", vim.log.levels.INFO)
  end
end

--- Draws, but not more often than once in a frame.
function Chat:draw_soon()
  if self.timer:is_active() then
    return
  end
  local rest = FRAME_MS - (vim.uv.now() - self.drawn_at)
  local draw = vim.schedule_wrap(function()
    self:draw()
  end)
  self.timer:start(math.max(0, rest), 0, draw)
end

function Chat:draw()
  self.drawn_at = vim.uv.now()
  if self.windows:are_whole() then
    self.buffer:update(self.session.model)
  end
end

return Chat
