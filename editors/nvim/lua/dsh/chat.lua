--- One conversation with one folder: shows what its session tells.

local Agents = require("dsh.agents")
local Session = require("dsh.session")
local Windows = require("dsh.view.windows")
local citation = require("dsh.view.citation")
local frames = require("dsh.frames")
local reviewing = require("dsh.reviewing")
local rows = require("dsh.view.rows")
local typed = require("dsh.typed")

--- How often the time that a branch has left, or that a review has taken, is shown.
local TICK_MS = 1000

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
---@field private frame dsh.Frames
---@field private agents dsh.Agents
local Chat = {}
Chat.__index = Chat

---@param root string
---@return dsh.Chat
function Chat.new(root)
  local self = setmetatable({ status = "asleep" }, Chat)
  self.frame = frames.new(function()
    self:draw()
  end)
  self.session = Session.new(root, {
    grown = function()
      self.frame:soon()
    end,
    emptied = function()
      if self.windows:are_whole() then
        self.windows.page.transcript:clear()
      end
    end,
    said = function(status)
      self.status = status
      self:show_status()
    end,
    changed = function()
      self:show_status()
    end,
    shows = function(answer)
      return self:shows(answer)
    end,
    failed = function(line)
      if self.windows:are_whole() then
        self:draw()
        self.windows.page.transcript:note("✗ " .. line, "DshError")
      else
        vim.notify("dsh: " .. line, vim.log.levels.ERROR)
      end
    end,
    ran = function(line, result)
      if self.windows:are_whole() then
        self:draw()
        self.windows.page.transcript:add(rows.command(line, result))
      end
    end,
  })
  self.agents = Agents.new(self.session, function(win)
    self.windows:enter(win)
  end)
  self:make_windows()
  return self
end

--- Makes the buffers of the chat and shows in them what there is.
function Chat:make_windows()
  self.windows = Windows.new(self.session.root, {
    send = function(prompt)
      if typed.is_command(prompt) then
        self.session:run(vim.trim(prompt))
      else
        self.session:prompt({ { type = "text", text = prompt } })
      end
    end,
    cancel = function()
      self:cancel()
    end,
    set_item = function(state)
      self:set_item(state)
    end,
    follow = function(target)
      self.agents:follow(target, self.windows.transcript)
    end,
  })
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

--- Shows above the transcript what the session does, which model is asked, and whether turns are
--- reviewed.
function Chat:show_status()
  local model = self.session.models:asked(self.session.info)
  local is_offline = model and vim.startswith(model, "offline/")
  local words = { WORDS[self.status] or self.status }
  words[#words + 1] = model
  words[#words + 1] = self.session.auto_review.enabled and "reviews turns" or nil
  self.windows:show_status(words, is_offline and "offline" or nil)
end

--- Stops what the cursor is on: the branch of a round or a round; else the running answer and the
--- rounds that were asked for.
function Chat:cancel()
  local target = self:target()
  local branch = target and target.kind == "branch" and target.branch
  if branch and branch.state ~= "settled" and branch.state ~= "lost" then
    self.session:cancel_round(target.round, branch.plan.label)
  elseif target and target.kind == "round" and target.round.state == "running" then
    self.session:cancel_round(target.round)
  elseif not self.session:cancel() then
    vim.notify("dsh: nothing is running", vim.log.levels.INFO)
  end
end

--- Shows the answer to a message, if the message is one of this session. Else it is shown as a
--- document, for which the cursor leaves the chat.
---@param id string
---@return boolean
function Chat:shows(id)
  local entries = self.session.model.entries
  for place = #entries, 1, -1 do
    local message = entries[place].message
    if message and message.id == id then
      self:revive()
      self.windows:open()
      return true
    end
  end
  if self:has(vim.api.nvim_get_current_buf()) then
    citation.enter_file_window()
  end
  return false
end

--- Says where the item of a review stands that the cursor is on.
---@param state dsh.ReviewItemState
function Chat:set_item(state)
  local target = self:target()
  if target and target.kind == "item" then
    reviewing.set_item(self.session, target.review, target.index, state)
  else
    vim.notify("dsh: the cursor is not on an item of a review in the chat", vim.log.levels.WARN)
  end
end

--- What the cursor is on, or what the page that it is in shows.
---@return dsh.view.Target?
function Chat:target()
  local buf = vim.api.nvim_get_current_buf()
  if buf == self.windows.transcript then
    local row = vim.api.nvim_win_get_cursor(0)[1]
    return self.windows.page.transcript.targets:at(row - 1)
  end
  local child = self.agents:of(buf)
  return child and child.opening.branch
end

--- Whether a buffer belongs to the chat.
---@param buf integer
---@return boolean
function Chat:has(buf)
  local windows = self.windows
  return buf == windows.transcript or buf == windows.input or self.agents:of(buf) ~= nil
end

function Chat:draw()
  if self.windows:are_whole() then
    self.windows.page.transcript:update(self.session.model)
  end
  local model = self.session.model
  if #model.rounds:open() > 0 or model.reviews:are_running() then
    self.frame:soon(TICK_MS)
  end
end

return Chat
