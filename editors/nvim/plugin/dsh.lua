--- Defines `:Dsh`. Nothing else is loaded before it is used.

if vim.g.loaded_dsh then
  return
end
vim.g.loaded_dsh = true

vim.api.nvim_create_user_command("Dsh", function(command)
  require("dsh.commands").run(command)
end, {
  nargs = "*",
  range = true,
  desc = "Ask an agent about this folder",
  complete = function(start, line)
    return require("dsh.commands").complete(start, line)
  end,
})
