--- The agents that a chat's session started, and theirs: shows the work of each in a window.

local Child = require("dsh.child")
local content = require("dsh.content")

local api = vim.api

---@class (exact) dsh.Agents
---@field private session dsh.Session
---@field private children table<integer, dsh.Child> By the buffers that show them.
---@field private home fun(win: integer) Shows the chat in a window.
local Agents = {}
Agents.__index = Agents

---@param session dsh.Session
---@param home fun(win: integer)
---@return dsh.Agents
function Agents.new(session, home)
  return setmetatable({ session = session, home = home, children = {} }, Agents)
end

--- The agent that a buffer shows.
---@param buf integer
---@return dsh.Child?
function Agents:of(buf)
  return self.children[buf]
end

--- Shows in the current window the agent that a line leads to.
---@param target dsh.view.Target
---@param chat integer The buffer of the chat.
---@param parent? dsh.Child Whose page the line is in, if it is not the chat.
function Agents:follow(target, chat, parent)
  local win = api.nvim_get_current_win()
  local opening = { session = self.session, chat = chat }
  function opening.follow(further, child)
    self:follow(further, chat, child)
  end
  function opening.back(at)
    if parent then
      self:show(at, parent.opening)
    else
      self.home(at)
    end
  end
  if target.kind == "branch" then
    opening.id, opening.name = target.branch.child, target.branch.plan.label
    opening.branch = target
  elseif target.kind == "review" then
    opening.id, opening.name = target.review.child, "review"
  elseif target.kind == "call" then
    local name = content.arguments(target.call.arguments).description
    opening.name = type(name) == "string" and name or target.call.tool
    local caller = parent and parent.opening.id or self.session.info.sessionId
    -- Until the call is answered, and when it failed, only the server has told.
    opening.id = target.child or self.session:child_of(caller, target.call.call_id)
  end
  if opening.id then
    self:show(win, opening)
  else
    vim.notify("dsh: no agent that works for this row was found", vim.log.levels.INFO)
  end
end

---@param win integer
---@param opening dsh.child.Opening
function Agents:show(win, opening)
  for buf in pairs(self.children) do
    if not api.nvim_buf_is_valid(buf) then
      self.children[buf] = nil
    end
  end
  local child = Child.open(opening, win)
  self.children[child.page.buf] = child
end

return Agents
