--- The settings: their defaults, and what is wrong with a person's own.

local M = {}

--- What a person may set; all of it is optional.
---@class (exact) dsh.Opts
---@field cmd? string[] The program and its arguments before `lsp`. Default `{ "dsh-ls" }`.
---@field model? string `PROVIDER/MODEL` for new sessions. Default: the server's.
---@field root? string|fun(buf: integer): string? The folder to work in. Default: by `root_markers`.
---@field root_markers? string[] What the root of a project has. Default `{ ".git" }`.
---@field width? number Width of the chat as a part of the screen. Default 0.45.
---@field env? table<string, string> Further environment of the server.
---@field virtual_text? boolean|table What is found is shown behind its line. Default true.

--- What is in force.
---@class (exact) dsh.Config
---@field cmd string[]
---@field model? string
---@field root? string|fun(buf: integer): string?
---@field root_markers string[]
---@field width number
---@field env? table<string, string>
---@field virtual_text boolean|table

---@type dsh.Config
local defaults = {
  cmd = { "dsh-ls" },
  root_markers = { ".git" },
  width = 0.45,
  virtual_text = true,
}

--- What each setting must be.
---@type table<string, { says: string, holds: fun(value: any): boolean }>
local kinds = {
  cmd = {
    says = "a list of texts, the program first",
    holds = function(value)
      return vim.islist(value) and type(value[1]) == "string"
    end,
  },
  model = {
    says = "a text such as provider/model",
    holds = function(value)
      return type(value) == "string" and value:find("./.") ~= nil
    end,
  },
  root = {
    says = "a folder, or a function that returns one",
    holds = function(value)
      return type(value) == "string" or type(value) == "function"
    end,
  },
  root_markers = { says = "a list of texts", holds = vim.islist },
  width = {
    says = "a number between 0.1 and 0.9",
    holds = function(value)
      return type(value) == "number" and value >= 0.1 and value <= 0.9
    end,
  },
  env = {
    says = "a table of texts",
    holds = function(value)
      return type(value) == "table"
    end,
  },
  virtual_text = {
    says = "true, false, or a table of what vim.diagnostic.config() takes for it",
    holds = function(value)
      return type(value) == "boolean" or type(value) == "table"
    end,
  },
}

---@type dsh.Config
local current = defaults
---@type string[]
local problems = {}

--- Takes a person's settings. What is wrong is left out and told by `:checkhealth dsh`.
---@param opts? dsh.Opts
function M.set(opts)
  problems = {}
  local taken = {}
  for name, value in pairs(opts or {}) do
    local kind = kinds[name]
    if not kind then
      problems[#problems + 1] = ("there is no setting `%s`"):format(name)
    elseif not kind.holds(value) then
      problems[#problems + 1] = ("`%s` must be %s"):format(name, kind.says)
    else
      taken[name] = value
    end
  end
  table.sort(problems)
  current = vim.tbl_extend("force", defaults, taken)
end

---@return dsh.Config
function M.get()
  return current
end

---@return string[]
function M.problems()
  return problems
end

return M
