--- One server for one folder: starts it as a language server, asks it, hears it, and starts it
--- again when it has died. Knows the wire; does not know what is shown.

local config = require("dsh.config")
local documents = require("dsh.documents")

--- Starts without a person's doing within `WITHIN_MS`, lest a server that dies at once spins.
local RESTARTS = 3
local WITHIN_MS = 60000

--- The versions of the wire that this plugin speaks.
local VERSIONS = { "1.0" }

--- The notifications that are of use. The others tell of events that come as well.
local HEARD = {
  "config/changed",
  "deliberate/branch",
  "session/changed",
  "session/event",
  "session/lagged",
  "session/status",
  "subagent/started",
}

--- What a client tells the one who made it.
---@class (exact) dsh.client.Listener
---@field notified fun(method: string, params: any)
---@field ready fun()
---@field ended fun(why: string, restarts: boolean)
---@field failed fun(why: string) It cannot be started.
---@field shows fun(answer: string): boolean Shows the answer to a message, if it is one of its own.

---@alias dsh.Reply fun(error?: dsh.RpcError, result?: any)

---@class (exact) dsh.client.Client
---@field root string
---@field state "off"|"starting"|"ready"
---@field private listener dsh.client.Listener
---@field private id? integer The language client.
---@field private handle? vim.lsp.Client The same, once it is ready.
---@field private waiting table<integer, dsh.Reply> Replies that have not come, by their own count.
---@field private asked integer
---@field private deaths integer[] When it died, in milliseconds.
local Client = {}
Client.__index = Client

---@param root string
---@param listener dsh.client.Listener
---@return dsh.client.Client
function Client.new(root, listener)
  return setmetatable({
    root = root,
    state = "off",
    listener = listener,
    waiting = {},
    asked = 0,
    deaths = {},
  }, Client)
end

--- Runs the program. Neovim only breaks off when a server refuses `initialize`, and says nothing
--- that a person could use; so that answer is looked at here.
---@param dispatchers vim.lsp.rpc.Dispatchers
---@return vim.lsp.rpc.PublicClient
function Client:run(dispatchers)
  local own = config.get()
  local cmd = vim.list_extend(vim.deepcopy(own.cmd), { "lsp" })
  local rpc = vim.lsp.rpc.start(cmd, dispatchers, { cwd = self.root, env = own.env })
  local request = rpc.request
  rpc.request = function(method, params, answered, ...)
    local function checked(problem, result)
      if problem then
        self:refused(problem.message)
      else
        answered(nil, result)
      end
    end
    return request(method, params, method == "initialize" and checked or answered, ...)
  end
  return rpc
end

--- The server does not take this plugin for a client: then it is of no use.
---@param why string
function Client:refused(why)
  local told = "the server does not work with this plugin: %s; see :checkhealth dsh"
  self.listener.failed(told:format(why))
  vim.lsp.stop_client(self.id, true)
end

--- What Neovim needs to run the server.
---@return vim.lsp.ClientConfig
function Client:settings()
  local handlers = {}
  for _, method in ipairs(HEARD) do
    handlers[method] = function(_, params)
      self.listener.notified(method, params)
    end
  end
  handlers["window/showDocument"] = function(problem, params, context, own)
    -- An answer that was asked for in a file; its document is named by the message.
    local name = vim.fs.basename(params.uri):gsub("%.md$", "")
    if self.listener.shows(name) then
      return { success = true }
    end
    return vim.lsp.handlers["window/showDocument"](problem, params, context, own)
  end
  return {
    name = "dsh",
    cmd = function(dispatchers)
      return self:run(dispatchers)
    end,
    root_dir = self.root,
    init_options = { protocolVersions = VERSIONS },
    handlers = handlers,
    on_init = function(client)
      self:begun(client)
    end,
    on_exit = vim.schedule_wrap(function(code, signal, id)
      self:ended(code, signal, id)
    end),
  }
end

--- Starts the server unless it runs.
function Client:start()
  if self.state ~= "off" then
    return
  end
  local program = config.get().cmd[1]
  if vim.fn.executable(program) == 0 then
    local why = "`%s` was not found: put dsh-ls on your PATH, or set `cmd` in setup()"
    self.listener.failed(why:format(program))
    return
  end
  self.state = "starting"
  local settings = self:settings()
  if vim.fn.has("nvim-0.11") == 1 then
    local alone = function()
      return false
    end
    self.id = vim.lsp.start(settings, { attach = false, reuse_client = alone, silent = true })
  else
    self.id = vim.lsp.start_client(settings)
  end
  if not self.id then
    self.state = "off"
    self.listener.failed(("`%s` could not be started: see :checkhealth dsh"):format(program))
  end
end

--- The namespace in `vim.diagnostic` of what the server shows in files.
---@param id integer The language client.
---@return integer
local function namespace_of(id)
  return vim.lsp.diagnostic.get_namespace(id)
end

---@param client vim.lsp.Client
function Client:begun(client)
  self.handle, self.state = client, "ready"
  -- Since Neovim 0.11 no text stands behind lines by default. Other clients stay as they are.
  local display = { virtual_text = config.get().virtual_text }
  vim.diagnostic.config(display, namespace_of(client.id))
  documents.watch(client.id, self.root)
  self.listener.ready()
end

--- Whether it may be started again without a person's doing.
---@return boolean
function Client:may_restart()
  local now = vim.uv.now()
  self.deaths[#self.deaths + 1] = now
  local recent = vim.tbl_filter(function(time)
    return now - time < WITHIN_MS
  end, self.deaths)
  self.deaths = recent
  return #recent <= RESTARTS
end

---@param code integer
---@param signal integer
---@param id integer
function Client:ended(code, signal, id)
  local was_ready = self.state == "ready"
  self.handle, self.state = nil, "off"
  documents.unwatch(id)
  local why = signal ~= 0 and ("signal %d"):format(signal) or ("exit code %d"):format(code)
  local waiting = self.waiting
  self.waiting = {}
  -- A server that never came up will not do so by itself.
  local restarts = was_ready and self:may_restart()
  self.listener.ended(why, restarts)
  for _, reply in pairs(waiting) do
    reply({ code = 0, message = "the server ended: " .. why })
  end
  if restarts then
    self:start()
  end
end

--- Asks the server, which must be ready. The reply always comes, also when the server dies.
---@param method string
---@param params table
---@param reply dsh.Reply
---@param buf? integer What was changed in this buffer is sent before.
function Client:request(method, params, reply, buf)
  self.asked = self.asked + 1
  local number = self.asked
  self.waiting[number] = reply
  local function answered(problem, result)
    if self.waiting[number] then
      self.waiting[number] = nil
      reply(problem, result)
    end
  end
  local handle = assert(self.handle, "the server is not ready")
  -- What cannot be sent, because the server is just ending, is answered when it has ended.
  if vim.fn.has("nvim-0.11") == 1 then
    handle:request(method, params, answered, buf)
  else
    handle.request(method, params, answered, buf)
  end
end

--- What the server shows in files now.
---@return vim.Diagnostic[]
function Client:findings()
  if not self.handle then
    return {}
  end
  return vim.diagnostic.get(nil, { namespace = namespace_of(self.handle.id) })
end

--- Sends the changes that Neovim still holds back, so that what is asked next sees them. It sends
--- them with any request on behalf of their buffer; to hold nothing back at all would also change
--- how other language servers of the buffer are told.
function Client:send_changes()
  for _, buf in ipairs(documents.changed(assert(self.handle))) do
    self:request("server/status", vim.empty_dict(), function() end, buf)
  end
end

return Client
