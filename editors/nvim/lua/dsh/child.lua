--- The work of an agent that a session started, shown in the window of its chat and followed for as
--- long as it is shown.

local Follower = require("dsh.follower")
local Page = require("dsh.view.page")
local frames = require("dsh.frames")
local scratch = require("dsh.view.scratch")
local text = require("dsh.view.text")

local api = vim.api

--- What a child is made of.
---@class (exact) dsh.child.Opening
---@field session dsh.Session The session of the chat.
---@field chat integer The buffer of the chat.
---@field id string The session of the agent.
---@field name string What the agent is called.
---@field branch? dsh.view.Target.Branch The branch that it works for.
---@field back fun(win: integer) Shows in a window what was there before.
---@field follow fun(target: dsh.view.Target, child: dsh.Child) Shows an agent that this one started.

---@class (exact) dsh.Child
---@field page dsh.view.Page
---@field opening dsh.child.Opening
---@field private follower dsh.Follower
---@field private frame dsh.Frames
local Child = {}
Child.__index = Child

--- Shows it in a window.
---@param opening dsh.child.Opening
---@param win integer
---@return dsh.Child
function Child.open(opening, win)
  local self = setmetatable({ opening = opening }, Child)
  local name = "agent " .. text.one_line(opening.name, 60)
  self.page = Page.new(opening.session.root, name, function(target)
    opening.follow(target, self)
  end)
  local buf = self.page.buf
  vim.bo[buf].bufhidden = "wipe"
  vim.b[buf].dsh_chat = opening.chat
  self.frame = frames.new(function()
    self:draw()
  end)
  self.follower = Follower.new(opening.session.client, opening.id, {
    grown = function()
      self.frame:soon()
    end,
    emptied = function()
      self:empty()
    end,
    failed = function(problem)
      if api.nvim_buf_is_loaded(buf) then
        self.page.transcript:note("✗ this cannot be shown: " .. problem.message, "DshError")
      end
    end,
  })
  api.nvim_create_autocmd("BufWipeout", {
    buffer = buf,
    once = true,
    callback = function()
      self:close()
    end,
  })
  self:map_keys()
  self:show_bar("reads")
  opening.session:follow(self.follower)
  self.page:enter(win)
  return self
end

function Child:map_keys()
  local buf = self.page.buf
  for _, keys in ipairs({ "q", "<BS>" }) do
    scratch.map(buf, "n", keys, "go back", function()
      self.opening.back(api.nvim_get_current_win())
    end)
  end
  scratch.map(buf, "n", "<C-c>", "cancel the branch", "<Cmd>Dsh cancel<CR>")
end

--- The log is read from its start.
function Child:empty()
  if api.nvim_buf_is_loaded(self.page.buf) then
    self.page.transcript:clear()
  end
end

---@param state string
function Child:show_bar(state)
  local words = ("%s · %s · q goes back"):format(text.one_line(self.opening.name, 60), state)
  self.page:show_bar("%#DshTool#  agent · " .. words:gsub("%%", "%%%%"))
end

function Child:draw()
  if api.nvim_buf_is_loaded(self.page.buf) then
    self.page.transcript:update(self.follower.model)
    self:show_bar(self.follower.model.in_turn and "works" or "has ended")
  end
end

---@return dsh.Model
function Child:model()
  return self.follower.model
end

function Child:close()
  self.frame:stop()
  self.opening.session:unfollow(self.follower)
end

return Child
