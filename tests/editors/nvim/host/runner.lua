--- Runs the tests of one file inside a Neovim whose main loop goes on: a test is a coroutine that
--- waits for conditions. Environment: `DSH_TEST` names the file; see `run.py` for the others.

local M = {}

--- How often a condition is looked at, and when it has failed.
local POLL_MS = 10
local PATIENCE_MS = 10000

local env = vim.env
vim.opt.runtimepath:prepend(env.DSH_PLUGIN)
vim.opt.swapfile = false
vim.cmd.runtime("plugin/dsh.lua")
require("dsh").setup({ cmd = { env.DSH_LS }, model = env.DSH_MODEL })

--- Messages that a person would have seen.
---@type string[]
M.told = {}
vim.notify = function(message)
  M.told[#M.told + 1] = message
end

--- Waits in a test until something is so.
---@param what string
---@param is_so fun(): any
---@return any
function M.wait(what, is_so)
  local routine = assert(coroutine.running())
  local began = vim.uv.hrtime()
  while true do
    local found = is_so()
    if found then
      return found
    end
    if (vim.uv.hrtime() - began) / 1e6 > PATIENCE_MS then
      error("waited in vain: " .. what .. "\n" .. table.concat(M.lines(), "\n"), 2)
    end
    vim.defer_fn(function()
      M.resume(routine)
    end, POLL_MS)
    coroutine.yield()
  end
end

---@return dsh.Chat
function M.chat()
  return require("dsh.workspace").chat()
end

--- Begins another session and waits until it is empty and can be asked.
function M.begin()
  vim.cmd("Dsh new")
  M.wait("an empty session", function()
    return M.chat().session.client.state == "ready" and M.chat().status == "idle"
  end)
end

--- The lines of the chat buffer.
---@return string[]
function M.lines()
  return vim.api.nvim_buf_get_lines(M.chat().windows.transcript, 0, -1, false)
end

--- The number of the first line that holds a plain text.
---@param text string
---@return integer?
function M.find(text)
  for number, line in ipairs(M.lines()) do
    if line:find(text, 1, true) then
      return number
    end
  end
end

--- The lines of a buffer as a person sees them: with the virtual text in them.
---@param buf? integer Default: the chat buffer.
---@return string[]
function M.virtual_lines(buf)
  buf = buf or M.chat().windows.transcript
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  local options = { details = true, type = "virt_text" }
  local marks = vim.api.nvim_buf_get_extmarks(buf, -1, 0, -1, options)
  -- From behind, so that columns hold.
  for place = #marks, 1, -1 do
    local _, row, column, details = unpack(marks[place])
    local shown = {}
    for _, chunk in ipairs(details.virt_text_pos == "inline" and details.virt_text or {}) do
      shown[#shown + 1] = chunk[1]
    end
    local line = lines[row + 1]
    lines[row + 1] = line:sub(1, column) .. table.concat(shown) .. line:sub(column + 1)
  end
  return lines
end

--- The first line of the chat that holds a plain text, with the virtual text in it.
---@param text string
---@return string?
function M.virtual(text)
  local number = M.find(text)
  return number and M.virtual_lines()[number]
end

--- Waits until a line with a plain text shows another one, virtual text included.
---@param text string
---@param shown string
---@return string
function M.wait_for_virtual(text, shown)
  return M.wait(("`%s` shows `%s`"):format(text, shown), function()
    local line = M.virtual(text)
    return line and line:find(shown, 1, true) and line
  end)
end

--- How many lines hold a plain text.
---@param text string
---@return integer
function M.count(text)
  return #vim.tbl_filter(function(line)
    return line:find(text, 1, true) ~= nil
  end, M.lines())
end

--- Waits until a line of the chat holds a plain text.
---@param text string
---@return integer
function M.wait_for(text)
  return M.wait("`" .. text .. "` is shown", function()
    return M.find(text)
  end)
end

--- Waits until as many turns have ended and are shown.
---@param turns? integer
function M.wait_for_end(turns)
  M.wait("the turn ends", function()
    local ended = 0
    for _, entry in ipairs(M.chat().session.model.entries) do
      ended = ended + (entry.label == "done" and 1 or 0)
    end
    return ended == (turns or 1) and M.chat().status == "idle"
  end)
  M.chat():draw()
end

--- What a replay shows: the session's log, read from the server and drawn in a buffer of its own.
---@return string[]
function M.replayed()
  local page = require("dsh.view.page").new(vim.env.DSH_ROOT, "replay", function() end)
  local model = require("dsh.model").new()
  local session = M.chat().session
  local all
  local params = { sessionId = session.info.sessionId, limit = 5000 }
  session.client:request("session/events", params, function(_, result)
    all = result.events
  end)
  M.wait("the log", function()
    return all
  end)
  for _, event in ipairs(all) do
    model:apply(event)
  end
  page.transcript:update(model)
  local lines = M.virtual_lines(page.buf)
  vim.api.nvim_buf_delete(page.buf, { force = true })
  return lines
end

--- The process of the server, by what it says of itself.
---@return integer
function M.server_pid()
  local pid
  M.chat().session.client:request("server/status", vim.empty_dict(), function(_, status)
    pid = status.pid
  end)
  return M.wait("the server's status", function()
    return pid
  end)
end

--- Goes to the chat's transcript, to a line.
---@param line integer
function M.stand_on(line)
  local win = vim.fn.win_findbuf(M.chat().windows.transcript)[1]
  vim.api.nvim_set_current_win(win)
  vim.api.nvim_win_set_cursor(win, { line, 0 })
end

--- Presses keys as a person would and waits until they have been taken.
---@param keys string
function M.press(keys)
  local pressed = false
  vim.api.nvim_feedkeys(vim.keycode(keys), "m", false)
  vim.keymap.set({ "n", "i" }, "<F12>", function()
    pressed = true
  end)
  vim.api.nvim_feedkeys(vim.keycode("<F12>"), "m", false)
  M.wait("the keys are taken", function()
    return pressed
  end)
end

---@param got any
---@param wanted any
---@param what? string
function M.equal(got, wanted, what)
  if not vim.deep_equal(got, wanted) then
    local said = ("%s: got %s, wanted %s"):format(
      what or "not equal",
      vim.inspect(got),
      vim.inspect(wanted)
    )
    error(said, 2)
  end
end

--- Goes on with a test; an error in it is its failure.
---@param routine thread
function M.resume(routine)
  local ok, problem = coroutine.resume(routine)
  if not ok then
    M.failed = debug.traceback(routine, tostring(problem))
  end
end

---@param tests { [1]: string, [2]: fun() }[]
local function run(tests)
  for _, test in ipairs(tests) do
    M.failed = nil
    M.told = {}
    local routine = coroutine.create(test[2])
    M.resume(routine)
    local main = coroutine.running()
    while coroutine.status(routine) ~= "dead" do
      vim.defer_fn(function()
        coroutine.resume(main)
      end, POLL_MS)
      coroutine.yield()
    end
    local line = M.failed and "FAILED " .. test[1] .. "\n" .. M.failed or "ok " .. test[1]
    io.stdout:write(line .. "\n")
  end
  io.stdout:write("done\n")
  vim.cmd("qall!")
end

package.loaded["runner"] = M
vim.schedule(function()
  M.resume(coroutine.create(function()
    run(dofile(env.DSH_TEST))
  end))
  if M.failed then
    io.stdout:write("FAILED to load\n" .. M.failed .. "\n")
    vim.cmd("cquit!")
  end
end)
