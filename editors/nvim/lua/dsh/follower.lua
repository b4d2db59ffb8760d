--- Follows a session that another agent works in: folds its log from the start, and each event as
--- it comes. Asks it nothing. Does not know what is shown.

local Model = require("dsh.model")

---@class (exact) dsh.follower.Listener
---@field grown fun() The model has folded something.
---@field emptied fun() The model begins anew.
---@field failed fun(problem: dsh.RpcError) The session cannot be followed.

---@class (exact) dsh.Follower
---@field id string The session.
---@field model dsh.Model
---@field private client dsh.client.Client
---@field private listener dsh.follower.Listener
---@field private is_open boolean
---@field private is_subscribed boolean
local Follower = {}
Follower.__index = Follower

---@param client dsh.client.Client
---@param id string
---@param listener dsh.follower.Listener
---@return dsh.Follower
function Follower.new(client, id, listener)
  return setmetatable({
    id = id,
    model = Model.new(),
    client = client,
    listener = listener,
    is_open = true,
    is_subscribed = false,
  }, Follower)
end

--- Reads the log from its start; also when the server has come back.
function Follower:subscribe()
  if not self.is_open or self.client.state ~= "ready" then
    return
  end
  self.model = Model.new()
  self.listener.emptied()
  local params = { sessionId = self.id, after = -1 }
  self.client:request("session/subscribe", params, function(problem)
    self.is_subscribed = not problem
    if problem and self.is_open and self.client.state == "ready" then
      self.listener.failed(problem)
    end
  end)
end

--- Hears what the server tells of this session.
---@param method string
---@param params any
function Follower:notified(method, params)
  if not self.is_open then
    return
  elseif method == "session/lagged" then
    self.model:lag()
  elseif method == "session/event" then
    if self.model:apply(params.event) then
      self.listener.grown()
    else
      self:subscribe()
    end
  end
end

--- Ends it.
function Follower:close()
  if self.is_open and self.is_subscribed and self.client.state == "ready" then
    self.client:request("session/unsubscribe", { sessionId = self.id }, function() end)
  end
  self.is_open = false
end

return Follower
