--- `:Dsh cancel` stops the running answer and drops the prompts that wait.

---@type dsh.Command
return {
  run = function()
    require("dsh.workspace").chat():cancel()
  end,
}
