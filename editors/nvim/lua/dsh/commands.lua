--- The subcommands of `:Dsh`: the list, dispatch and completion. Each is a file in `commands/`.

local M = {}

--- What a subcommand is given.
---@class (exact) dsh.Command.Call
---@field text string What stands behind its name.
---@field range? { first: integer, last: integer } Lines that were given or selected.

---@class (exact) dsh.Command
---@field run fun(call: dsh.Command.Call)
---@field complete? fun(): string[] Words that may stand behind its name.

--- All subcommands; one line each.
M.names = {
  "accept",
  "ask",
  "cancel",
  "chat",
  "deliberate",
  "dismiss",
  "findings",
  "model",
  "new",
  "review",
}

---@param name string
---@return dsh.Command
local function load(name)
  return require("dsh.commands." .. name)
end

---@param words string[]
---@param start string
---@return string[]
local function starting_with(words, start)
  return vim.tbl_filter(function(word)
    return vim.startswith(word, start)
  end, words)
end

--- Runs `:Dsh NAME …`; without a name it opens the chat.
---@param command vim.api.keyset.create_user_command.command_args
function M.run(command)
  local name, text = command.args:match("^(%S+)%s*(.*)$")
  name = name or "chat"
  if not vim.list_contains(M.names, name) then
    local known = table.concat(M.names, ", ")
    local told = ("dsh: there is no `%s`; there are: %s"):format(name, known)
    vim.notify(told, vim.log.levels.ERROR)
    return
  end
  local range = command.range > 0 and { first = command.line1, last = command.line2 } or nil
  load(name).run({ text = text or "", range = range })
end

--- Completes the subcommand, then what stands behind it.
---@param start string
---@param line string
---@return string[]
function M.complete(start, line)
  local name = line:match("Dsh!?%s+(%S+)%s")
  if not name then
    return starting_with(M.names, start)
  end
  local complete = vim.list_contains(M.names, name) and load(name).complete
  return complete and starting_with(complete(), start) or {}
end

return M
