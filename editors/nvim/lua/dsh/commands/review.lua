--- `:Dsh review [on|off]` has the last turn reviewed, or each turn, or none.

local reviewing = require("dsh.reviewing")

---@type table<string, boolean>
local WORDS = { on = true, off = false }

---@type dsh.Command
return {
  complete = function()
    return { "off", "on" }
  end,
  run = function(call)
    local chat = require("dsh.workspace").chat()
    local word = vim.trim(call.text)
    if word == "" then
      chat.windows:open()
      reviewing.start(chat.session)
    elseif WORDS[word] == nil then
      vim.notify("dsh: `:Dsh review` takes `on`, `off` or nothing", vim.log.levels.ERROR)
    else
      reviewing.set_auto(chat.session, WORDS[word], function(line)
        vim.notify("dsh: " .. line, vim.log.levels.INFO)
      end)
    end
  end,
}
