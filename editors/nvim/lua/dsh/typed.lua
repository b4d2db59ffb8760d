--- Commands that a person types where prompts are typed: a text that begins with a slash. Pure.

local M = {}

--- Whether a text is a command, known or not.
---@param text string
---@return boolean
function M.is_command(text)
  return text:match("^%s*/") ~= nil
end

--- Why a command is not run: nobody offers it. Says which are offered.
---@param line string
---@param offered dsh.CommandInfo[]
---@return string?
function M.refusal(line, offered)
  local name = line:match("^%s*/(%S*)")
  local known = {}
  for _, command in ipairs(offered) do
    if command.name == name then
      return nil
    end
    local usage = ("/%s %s"):format(command.name, command.arguments):gsub(" $", "")
    known[#known + 1] = ("`%s`"):format(usage)
  end
  local there_are = #known > 0 and table.concat(known, ", ") or "none"
  return ("there is no command `/%s`; there are: %s"):format(name, there_are)
end

return M
