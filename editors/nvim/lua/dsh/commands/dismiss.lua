--- `:Dsh dismiss` sets the item of a review that the cursor is on aside.

---@type dsh.Command
return {
  run = function()
    require("dsh.workspace").chat():set_item("dismissed")
  end,
}
