--- `:Dsh chat` opens the chat and goes where a prompt is typed.

---@type dsh.Command
return {
  run = function()
    local chat = require("dsh.workspace").chat()
    chat.windows:focus()
    chat.session:wake()
  end,
}
