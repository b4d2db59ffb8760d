--- Whether turns are reviewed before they end: a setting of the server's home, asked and changed.

local ROW = "tool-deliberation"

---@class (exact) dsh.AutoReview
---@field enabled? boolean As it was when the server was last asked; nil where nothing can review.
local AutoReview = {}
AutoReview.__index = AutoReview

---@return dsh.AutoReview
function AutoReview.new()
  return setmetatable({}, AutoReview)
end

--- What a composition says of it; nil where nothing can review.
---@param rows dsh.ConfigRow[]
---@return boolean?
function AutoReview.of(rows)
  for _, row in ipairs(rows) do
    if row.id == ROW and not row.disabled then
      local own = type(row.config) == "table" and row.config.autoReview
      return type(own) == "table" and own.enabled == true
    end
  end
end

--- Asks a server, which must be ready.
---@param client dsh.client.Client
---@param heard fun(problem?: dsh.RpcError)
function AutoReview:ask(client, heard)
  local params = { workspace = vim.uri_from_fname(client.root) }
  client:request("config/dump", params, function(problem, result)
    if result then
      self.enabled = AutoReview.of(result.rows)
    end
    heard(problem)
  end)
end

--- Changes it, and asks what it is then: another layer of the configuration may have its own word.
---@param client dsh.client.Client
---@param enabled boolean
---@param heard fun(problem?: dsh.RpcError)
function AutoReview:set(client, enabled, heard)
  local params = { row = ROW, path = "autoReview.enabled", value = enabled }
  client:request("config/set", params, function(problem)
    if problem then
      heard(problem)
    else
      self:ask(client, heard)
    end
  end)
end

return AutoReview
