--- The models that can be asked, and which one a session asks.

local config = require("dsh.config")

---@class (exact) dsh.Models
---@field all dsh.ModelInfo[] As they were when the server was last asked.
---@field chosen? string The one that a person chose for new sessions.
local Models = {}
Models.__index = Models

---@return dsh.Models
function Models.new()
  return setmetatable({ all = {} }, Models)
end

--- The name of a model as a person writes it.
---@param model dsh.ModelId|dsh.ModelInfo
---@return string
function Models.name_of(model)
  return model.provider .. "/" .. model.model
end

--- The model for new sessions, unless the server is to choose.
---@return string?
function Models:wanted()
  return self.chosen or config.get().model
end

--- The model that a session asks, or that the next one will; nil before the server has told.
---@param session? dsh.SessionInfo
---@return string?
function Models:asked(session)
  if session then
    return Models.name_of(session.model)
  end
  local default = vim.tbl_filter(function(model)
    return model.default
  end, self.all)[1]
  return self:wanted() or default and Models.name_of(default)
end

--- Asks a server, which must be ready, which models there are.
---@param client dsh.client.Client
---@param listed fun(problem?: dsh.RpcError)
function Models:list(client, listed)
  local params = { workspace = vim.uri_from_fname(client.root) }
  client:request("model/list", params, function(problem, result)
    self.all = result and result.models or self.all
    listed(problem)
  end)
end

return Models
