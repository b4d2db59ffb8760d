--- `:Dsh new` begins another session.

---@type dsh.Command
return {
  run = function()
    local chat = require("dsh.workspace").chat()
    chat.windows:open()
    chat.session:renew()
  end,
}
