--- The session of a folder: begins it, subscribes to it, sends it prompts and folds its events, and
--- goes on with it when the server has died. Does not know what is shown.

local AutoReview = require("dsh.auto_review")
local Client = require("dsh.client")
local Model = require("dsh.model")
local Models = require("dsh.models")
local typed = require("dsh.typed")

--- A prompt that the server has not taken yet.
---@class (exact) dsh.session.Prompt
---@field id string Sending the same one again adds nothing, so that a prompt survives the server.
---@field content dsh.ContentBlock[]
---@field sent boolean

---@alias dsh.session.Status dsh.SessionStatus|"starting"|"ended"|"missing"

--- What a session tells the one who made it.
---@class (exact) dsh.session.Listener
---@field grown fun() The model has folded something.
---@field emptied fun() The model begins anew.
---@field said fun(status: dsh.session.Status) What the session or its server does now.
---@field changed fun() Something else changed that is shown beside the status.
---@field failed fun(line: string) What went wrong, for the person.
---@field shows fun(answer: string): boolean Shows the answer to a message, if it is this session's.
---@field ran fun(line: string, result?: dsh.CommandRunResult) A command began, or is done.

---@class (exact) dsh.Session
---@field root string
---@field model dsh.Model
---@field info? dsh.SessionInfo
---@field client dsh.client.Client
---@field models dsh.Models
---@field auto_review dsh.AutoReview
---@field listener dsh.session.Listener
---@field private state "none"|"asked"|"known"|"subscribed"
---@field private is_idle boolean
---@field private prompts dsh.session.Prompt[]
---@field private count integer How many prompts there were.
---@field private later fun()[] What waits for the server to be ready.
---@field private followers table<dsh.Follower, boolean> Of sessions of agents that it started.
---@field private children table<string, table<string, string>> The sessions of those agents, by the
--- sessions and the calls that they were started by.
---@field private generation integer Replies to an earlier subscription are passed over.
local Session = {}
Session.__index = Session

---@param root string
---@param listener dsh.session.Listener
---@return dsh.Session
function Session.new(root, listener)
  local self = setmetatable({
    root = root,
    model = Model.new(),
    listener = listener,
    state = "none",
    is_idle = true,
    prompts = {},
    models = Models.new(),
    auto_review = AutoReview.new(),
    count = 0,
    later = {},
    followers = {},
    children = {},
    generation = 0,
  }, Session)
  self.client = Client.new(root, {
    notified = function(method, params)
      self:notified(method, params)
    end,
    ready = function()
      self:server_ready()
    end,
    ended = function(why, restarts)
      self:server_ended(why, restarts)
    end,
    shows = listener.shows,
    failed = function(why)
      listener.said("missing")
      listener.failed(why)
    end,
  })
  return self
end

--- Starts the server, and a session if there is a prompt for it.
function Session:wake()
  if self.client.state == "off" then
    self.listener.said("starting")
    self.client:start()
  else
    self:advance()
  end
end

function Session:server_ready()
  self.listener.said("idle")
  self:advance()
  self.models:list(self.client, function(problem)
    if not problem then
      self.listener.said(self.is_idle and "idle" or "running")
    end
  end)
  self:ask_settings()
  for follower in pairs(self.followers) do
    follower:subscribe()
  end
  local later = self.later
  self.later = {}
  for _, deed in ipairs(later) do
    deed()
  end
end

--- Asks the server for the settings that are shown.
function Session:ask_settings()
  self.auto_review:ask(self.client, function(problem)
    if not problem then
      self.listener.changed()
    end
  end)
end

--- Forgets what replies and events are still under way.
---@param state "none"|"known"
function Session:detach(state)
  self.generation = self.generation + 1
  self.state = state
end

---@param why string
---@param restarts boolean
function Session:server_ended(why, restarts)
  self:detach(self.info and "known" or "none")
  self.is_idle = true
  self.model.rounds:lose()
  self.model.reviews:lose()
  for _, prompt in ipairs(self.prompts) do
    prompt.sent = false
  end
  local next_step = restarts and "it is started again"
    or "the next prompt starts it again; :checkhealth dsh says more"
  self.listener.said("ended")
  self.listener.failed(("the server ended (%s): %s"):format(why, next_step))
end

--- Tells of a failed request: what failed, why, and what a person can do.
---@param problem dsh.RpcError
---@param what string
function Session:tell(problem, what)
  local hint = problem.data and problem.data.hint
  self.listener.failed(
    ("%s: %s%s"):format(what, problem.message, hint and (" (" .. hint .. ")") or "")
  )
end

--- Asks the server; replies that come after a change of session or server are passed over.
---@param method string
---@param params table
---@param reply dsh.Reply
function Session:ask(method, params, reply)
  local generation = self.generation
  self.client:request(method, params, function(problem, result)
    if generation == self.generation then
      reply(problem, result)
    end
  end)
end

--- Takes the next step towards an empty list of prompts: session, subscription, prompts.
function Session:advance()
  if self.client.state ~= "ready" or self.state == "asked" then
    return
  end
  if self.state == "none" then
    if #self.prompts > 0 then
      self:begin()
    end
  elseif self.state == "known" then
    self:subscribe()
  else
    self:send_prompts()
  end
end

function Session:begin()
  self.state = "asked"
  local params = { workspace = vim.uri_from_fname(self.root), model = self.models:wanted() }
  self:ask("session/new", params, function(problem, result)
    if problem then
      self.state, self.prompts = "none", {}
      self:tell(problem, "no session could be begun")
      return
    end
    self.info, self.state = result.session, "known"
    self.listener.said("idle")
    self:advance()
  end)
end

--- Subscribes behind the last event that was folded. A server that was killed may have sent events
--- that it had not written: then the log is shorter than what was folded, or the last event, which
--- is sent once more for that reason, is another one. Either way it is read anew.
function Session:subscribe()
  self.state = "asked"
  local after = math.max(-1, self.model.last_seq - 1)
  local params = { sessionId = self.info.sessionId, after = after }
  self:ask("session/subscribe", params, function(problem, result)
    local kind = problem and problem.data and problem.data.kind
    if result and result.lastSeq >= self.model.last_seq then
      self.state = "subscribed"
      self:advance()
    elseif result or kind == "cursorInvalid" then
      self:read_anew()
    else
      self.state, self.info = "none", nil
      self:tell(problem, "the session is not there any more; the next prompt begins another one")
    end
  end)
end

--- Begins with an empty model.
function Session:empty()
  self.model = Model.new()
  self.listener.emptied()
end

--- Forgets what was folded and subscribes to all of the log.
function Session:read_anew()
  self:detach("known")
  self:empty()
  self:advance()
end

function Session:send_prompts()
  self.client:send_changes()
  for _, prompt in ipairs(self.prompts) do
    if not prompt.sent then
      prompt.sent = true
      local params = {
        sessionId = self.info.sessionId,
        content = prompt.content,
        clientMessageId = prompt.id,
      }
      self:ask("session/prompt", params, function(problem)
        self.prompts = vim.tbl_filter(function(other)
          return other ~= prompt
        end, self.prompts)
        if problem then
          self:tell(problem, "the prompt was not taken")
        end
      end)
    end
  end
end

--- Asks the agent.
---@param content dsh.ContentBlock[]
function Session:prompt(content)
  self.count = self.count + 1
  local id = ("nvim-%d-%d-%d"):format(vim.fn.getpid(), vim.uv.hrtime(), self.count)
  self.prompts[#self.prompts + 1] = { id = id, content = content, sent = false }
  self:wake()
end

--- Stops the running answer and drops what waits, and the rounds that a person asked for. Returns
--- false when nothing runs.
---@return boolean
function Session:cancel()
  if self.state ~= "subscribed" then
    return false
  end
  local any = false
  for _, round in ipairs(self.model.rounds:open()) do
    if round.by == "user" then
      any = true
      self:cancel_round(round)
    end
  end
  if self.is_idle then
    return any
  end
  self:ask("session/cancel", { sessionId = self.info.sessionId }, function(problem)
    if problem then
      self:tell(problem, "the answer could not be cancelled")
    end
  end)
  return true
end

--- Stops a round, or one branch of it.
---@param round dsh.Round
---@param label? string
function Session:cancel_round(round, label)
  self:when_ready(function()
    self:ask("deliberate/cancel", { roundId = round.id, label = label }, function(problem)
      if problem then
        self:tell(problem, "it could not be cancelled")
      end
    end)
  end)
end

--- What a person asked last, on one line.
---@return string?
function Session:last_question()
  local entries = self.model.entries
  for place = #entries, 1, -1 do
    if entries[place].label == "user" then
      return (vim.trim(entries[place].text):gsub("%s+", " "))
    end
  end
end

--- Asks isolated agents about the last answer. The log tells what they find.
---@param goal string
function Session:deliberate(goal)
  if not self.info then
    self.listener.failed("there is no answer yet that could be deliberated about")
    return
  end
  self:when_ready(function()
    local params = { sessionId = self.info.sessionId, line = "/deliberate " .. goal }
    self:ask("command/run", params, function(problem, result)
      if problem then
        self:tell(problem, "no round was begun")
      elseif not result.ok then
        self.listener.failed("no round was begun: " .. result.text)
      end
    end)
  end)
end

--- The session of the agent that a call started, as far as this editor has heard of it.
---@param parent string The session of the call.
---@param call_id string
---@return string?
function Session:child_of(parent, call_id)
  return self.children[parent] and self.children[parent][call_id]
end

--- Runs a command that a person typed, such as `/deliberate GOAL`, if the server offers it.
---@param line string
function Session:run(line)
  self:when_ready(function()
    local params = { workspace = vim.uri_from_fname(self.root) }
    self:ask("command/list", params, function(problem, result)
      local refusal = result and typed.refusal(line, result.commands)
      if problem then
        self:tell(problem, "the command was not run")
      elseif refusal then
        self.listener.failed(refusal)
      elseif not self.info then
        self.listener.failed("there is no session yet that a command could be about: ask first")
      else
        self:run_known(line)
      end
    end)
  end)
end

---@param line string
function Session:run_known(line)
  self.listener.ran(line)
  local params = { sessionId = self.info.sessionId, line = line }
  self:ask("command/run", params, function(problem, result)
    if problem then
      self:tell(problem, "the command failed")
    else
      self.listener.ran(line, result)
    end
  end)
end

--- Follows the session of an agent from its start.
---@param follower dsh.Follower
function Session:follow(follower)
  self.followers[follower] = true
  self:when_ready(function()
    follower:subscribe()
  end)
end

---@param follower dsh.Follower
function Session:unfollow(follower)
  self.followers[follower] = nil
  follower:close()
end

--- Asks another model from the next turn on, in this session and in later ones.
---@param model string
function Session:use_model(model)
  if not self.info then
    self.models.chosen = model
    self:when_ready(function()
      self.listener.said("idle")
    end)
    return
  end
  self:when_ready(function()
    local params = { sessionId = self.info.sessionId, model = model }
    self:ask("session/setModel", params, function(problem)
      if problem then
        self:tell(problem, "the model stays as it was")
      else
        self.models.chosen = model
      end
    end)
  end)
end

--- Begins another session. The old one stays on disk.
function Session:renew()
  if self.client.state == "ready" and self.info then
    local params = { sessionId = self.info.sessionId }
    self.client:request("session/unsubscribe", params, function() end)
  end
  self:detach("none")
  self.info, self.prompts, self.is_idle, self.children = nil, {}, true, {}
  self:empty()
  self:wake()
end

--- Does something when the server is ready.
---@param deed fun()
function Session:when_ready(deed)
  if self.client.state == "ready" then
    deed()
  else
    self.later[#self.later + 1] = deed
    self:wake()
  end
end

--- Hears the server.
---@param method string
---@param params any
function Session:notified(method, params)
  if method == "subagent/started" then
    -- One that no call started is the branch of a round, and the log names it.
    if params.callId then
      local of_parent = self.children[params.parentSessionId] or {}
      self.children[params.parentSessionId] = of_parent
      of_parent[params.callId] = params.childSessionId
    end
    return
  elseif method == "config/changed" then
    self:ask_settings()
    return
  end
  for follower in pairs(self.followers) do
    if follower.id == params.sessionId then
      follower:notified(method, params)
    end
  end
  local changed = method == "session/changed" and params.session
  local id = changed and changed.sessionId or params.sessionId
  if not self.info or id ~= self.info.sessionId then
    return
  end
  if changed then
    self.info = changed
    self.listener.said(changed.status)
  elseif method == "session/status" then
    self.is_idle = params.status ~= "running"
    self.listener.said(params.status)
  elseif method == "deliberate/branch" then
    self.model.rounds:heard(params, vim.uv.now())
    self.listener.grown()
  elseif self.state ~= "subscribed" then
    return -- What an earlier subscription still sends.
  elseif method == "session/lagged" then
    self.model:lag()
  elseif self.model:apply(params.event) then
    self.listener.grown()
  else
    self:read_anew()
  end
end

return Session
