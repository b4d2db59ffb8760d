--- `:Dsh cancel` stops the branch or the round that the cursor is on, else the running answer.

---@type dsh.Command
return {
  run = function()
    require("dsh.workspace").chat():cancel()
  end,
}
