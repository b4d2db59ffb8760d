--- `:checkhealth dsh`: what is there, what is not, and what to do about it. The report asks a
--- server of its own, so that it is complete also when none runs; it is the one place that waits.

local AutoReview = require("dsh.auto_review")
local config = require("dsh.config")
local reviewing = require("dsh.reviewing")

local M = {}

--- How long the report waits for the program, in milliseconds.
local PATIENCE_MS = 3000

--- What a check found out for the ones after it.
---@class (exact) dsh.health.Facts
---@field program? string Where the program is.
---@field answers table<integer, any> What a server answered, by request.

--- The questions to the server, by the number that its answer carries. It ends when it has answered
--- them and nothing more comes.
local QUESTIONS = {
  { "initialize", { initializationOptions = { protocolVersions = { "1.0" } } } },
  { "model/list", vim.empty_dict() },
  { "config/dump", vim.empty_dict() },
}

---@return string
local function requests()
  local lines = {}
  for number, question in ipairs(QUESTIONS) do
    local request = { jsonrpc = "2.0", id = number, method = question[1], params = question[2] }
    lines[number] = vim.json.encode(request) .. "\n"
  end
  return table.concat(lines)
end

--- Runs the program and returns its answers, or why there are none.
---@return table<integer, any>? answers
---@return string? why
local function ask()
  local own = config.get()
  local cmd = vim.list_extend(vim.deepcopy(own.cmd), { "rpc" })
  local options = { stdin = requests(), text = true, timeout = PATIENCE_MS, env = own.env }
  local ok, process = pcall(vim.system, cmd, options)
  if not ok then
    return nil, tostring(process)
  end
  local done = process:wait()
  local answers = {}
  for line in (done.stdout or ""):gmatch("[^\n]+") do
    local parsed, message = pcall(vim.json.decode, line, { luanil = { object = true } })
    if parsed and type(message.id) == "number" then
      answers[message.id] = message
    end
  end
  if not answers[1] then
    local last_words = vim.trim(done.stderr or ""):match("[^\n]*$")
    return nil, ("exit code %d: %s"):format(done.code, last_words)
  end
  return answers
end

--- The checks in order. One that says false ends the report: the rest would only repeat it.
---@type (fun(facts: dsh.health.Facts): boolean?)[]
local checks = {}

checks[1] = function()
  local own = vim.version()
  local version = ("%d.%d.%d"):format(own.major, own.minor, own.patch)
  if vim.fn.has("nvim-0.10") == 1 then
    vim.health.ok("Neovim " .. version)
  else
    vim.health.error("Neovim " .. version .. " is too old", "install Neovim 0.10 or newer")
  end
end

checks[2] = function()
  local problems = config.problems()
  for _, problem in ipairs(problems) do
    vim.health.error(problem, "correct it in setup(); see :help dsh-settings")
  end
  if #problems == 0 then
    vim.health.ok("settings are valid")
  end
end

checks[3] = function(facts)
  local program = config.get().cmd[1]
  facts.program = vim.fn.exepath(program)
  if facts.program == "" then
    vim.health.error(("`%s` was not found"):format(program), {
      "install it: cargo install --path server/dsh-ls",
      "or name it: require('dsh').setup({ cmd = { '/path/to/dsh-ls' } })",
    })
    return false
  end
  vim.health.ok("program: " .. facts.program)
end

checks[4] = function(facts)
  local answers, why = ask()
  if not answers then
    vim.health.error("the program does not answer: " .. why, {
      "run it by hand: " .. facts.program .. " --version",
      "build it anew if it is from another version of this plugin",
    })
    return false
  end
  facts.answers = answers
  local opened = answers[1]
  if opened.error then
    vim.health.error("the program refuses this plugin: " .. opened.error.message, {
      "install a plugin and a program of the same version",
    })
    return false
  end
  local wire = opened.result.capabilities.experimental.dsh.protocolVersion
  local version = opened.result.serverInfo.version
  vim.health.ok(("version %s, wire %s"):format(version, wire))
end

checks[5] = function(facts)
  local listed = facts.answers[2]
  local ready, default = {}, nil
  for _, model in ipairs(listed and listed.result and listed.result.models or {}) do
    local name = model.provider .. "/" .. model.model
    if model.ready then
      ready[#ready + 1] = name
    end
    default = model.default and model or default
  end
  if #ready == 0 then
    vim.health.error("no model is ready", "choose one with `model` in setup(), and set its key")
    return
  end
  vim.health.ok("models that are ready: " .. table.concat(ready, ", "))
  local wanted = config.get().model
  if wanted then
    vim.health.info("new sessions ask " .. wanted)
  elseif default and default.provider == "offline" then
    vim.health.info("new sessions ask offline/retrieval: it searches, and needs no key or network")
  elseif default then
    vim.health.info(("new sessions ask %s/%s"):format(default.provider, default.model))
  end
end

checks[6] = function(facts)
  local dumped = facts.answers[3]
  if dumped and dumped.result then
    vim.health.info(reviewing.described(AutoReview.of(dumped.result.rows)))
  end
end

checks[7] = function()
  local any = false
  for root, chat in pairs(require("dsh.workspace").all()) do
    any = true
    vim.health.info(("server for %s: %s"):format(root, chat.session.client.state))
  end
  if not any then
    vim.health.info("no server runs; `:Dsh chat` starts one")
  end
  vim.health.info("what servers say: " .. require("vim.lsp.log").get_filename())
end

--- Writes the report.
function M.check()
  vim.health.start("dsh")
  local facts = { answers = {} }
  for _, check in ipairs(checks) do
    if check(facts) == false then
      return
    end
  end
end

return M
