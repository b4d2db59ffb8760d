--- `:Dsh model [NAME]` asks another model from the next turn on.

---@param model dsh.ModelInfo
---@return string
local function described(model)
  local name = require("dsh.models").name_of(model)
  local state = model.ready and "" or (" (not ready: %s)"):format(model.reason or "unknown")
  return name .. (model.default and " (default)" or "") .. state
end

--- Lets the person choose one of the models that the server knows.
---@param session dsh.Session
local function choose(session)
  local models = session.models
  models:list(session.client, function(problem)
    if problem then
      session:tell(problem, "the models could not be listed")
      return
    end
    local options = { prompt = "Model", format_item = described }
    vim.ui.select(models.all, options, function(model)
      if model then
        session:use_model(models.name_of(model))
      end
    end)
  end)
end

---@type dsh.Command
return {
  complete = function()
    local models = require("dsh.workspace").chat().session.models
    return vim.tbl_map(models.name_of, models.all)
  end,
  run = function(call)
    local chat = require("dsh.workspace").chat()
    local session = chat.session
    chat.windows:open()
    if call.text ~= "" then
      session:use_model(call.text)
    else
      session:when_ready(function()
        choose(session)
      end)
    end
  end,
}
