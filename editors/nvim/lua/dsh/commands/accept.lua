--- `:Dsh accept` takes the item of a review that the cursor is on for right.

---@type dsh.Command
return {
  run = function()
    require("dsh.workspace").chat():set_item("accepted")
  end,
}
