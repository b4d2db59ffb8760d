--- `:Dsh deliberate [GOAL]` lets isolated agents look at the last answer again.

---@param goal string
local function deliberate(goal)
  local chat = require("dsh.workspace").chat()
  chat.windows:open()
  chat.session:deliberate((vim.trim(goal):gsub("%s+", " ")))
end

---@type dsh.Command
return {
  complete = function()
    local question = require("dsh.workspace").chat().session:last_question()
    return { question }
  end,
  run = function(call)
    if call.text ~= "" then
      deliberate(call.text)
      return
    end
    local session = require("dsh.workspace").chat().session
    local options = { prompt = "Decide: ", default = session:last_question() }
    vim.ui.input(options, function(goal)
      if goal and vim.trim(goal) ~= "" then
        deliberate(goal)
      end
    end)
  end,
}
