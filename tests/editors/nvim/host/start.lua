--- What a person's own start file would do, for a Neovim in a terminal.

vim.opt.runtimepath:prepend(vim.env.DSH_PLUGIN)
vim.opt.swapfile = false
vim.opt.number = true
require("dsh").setup({ cmd = { vim.env.DSH_LS }, model = vim.env.DSH_MODEL })
