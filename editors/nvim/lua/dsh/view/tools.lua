--- How calls of each tool are shown: one entry for a tool, and one for all others.

local content = require("dsh.content")

---@class (exact) dsh.view.Tool
---@field title fun(arguments: table<string, any>, entry: dsh.Entry): string What is asked.
---@field summary fun(value: any): string? What came of it, in a few words.
---@field body? fun(arguments: table<string, any>, result: string): string What it opens to.
---@field starts_agent? boolean

--- `1 match`, `2 matches`; `2+` when there are more than were counted.
---@param value { total?: integer, truncated?: boolean }
---@param one string
---@param many string
---@return string?
local function count(value, one, many)
  local total = value.total
  if type(total) ~= "number" then
    return nil
  end
  local more = value.truncated and "+" or ""
  return ("%d%s %s"):format(total, more, total == 1 and more == "" and one or many)
end

--- Where a search looks, if not everywhere.
local function place(arguments)
  local words = { tostring(arguments.pattern or "") }
  for _, name in ipairs({ "path", "include" }) do
    if type(arguments[name]) == "string" then
      words[#words + 1] = "in " .. arguments[name]
    end
  end
  return table.concat(words, " ")
end

---@type table<string, dsh.view.Tool>
local tools = {}

tools.glob = {
  title = place,
  summary = function(value)
    return count(value, "file", "files")
  end,
}

tools.grep = {
  title = place,
  summary = function(value)
    if value.matches then
      return count(value, "match", "matches")
    end
    return count(value, "file", "files")
  end,
}

tools.read = {
  title = function(arguments)
    local offset = tonumber(arguments.offset)
    return tostring(arguments.file_path or "") .. (offset and (":%d"):format(offset) or "")
  end,
  summary = function(value)
    local lines = type(value.lines) == "table" and #value.lines or 0
    return count({ total = lines }, "line", "lines")
  end,
}

tools.deliberate = {
  title = function(arguments)
    return tostring(arguments.goal or "")
  end,
  -- The rows of the round say it.
  summary = function()
    return nil
  end,
}

tools.subagent = {
  title = function(arguments)
    return tostring(arguments.description or "")
  end,
  summary = function()
    return "answered"
  end,
  body = function(arguments, result)
    return ("asked: %s\n\n%s"):format(tostring(arguments.prompt or ""), result)
  end,
  starts_agent = true,
}

---@type dsh.view.Tool
local any_other = {
  title = function(_, entry)
    return entry.arguments or ""
  end,
  summary = function()
    return nil
  end,
}

local M = {}

--- A call as a person reads it, without a mark of its state.
---@param entry dsh.Entry A `call`.
---@return string
function M.title(entry)
  local tool = tools[entry.tool] or any_other
  return entry.tool .. " " .. tool.title(content.arguments(entry.arguments), entry)
end

--- Whether a call starts an agent, whose work can be looked at.
---@param entry dsh.Entry A `call`.
---@return boolean
function M.starts_agent(entry)
  local tool = tools[entry.tool]
  return tool ~= nil and tool.starts_agent == true
end

--- What the row of a call opens to.
---@param entry dsh.Entry The `call`.
---@param result string
---@return string
function M.body(entry, result)
  local tool = tools[entry.tool] or any_other
  return tool.body and tool.body(content.arguments(entry.arguments), result) or result
end

--- What came of a call, in a few words.
---@param entry dsh.Entry The `call`.
---@param value any The typed value of its result.
---@return string?
function M.summary(entry, value)
  return type(value) == "table" and (tools[entry.tool] or any_other).summary(value) or nil
end

return M
