--- `:Dsh findings` fills the quickfix list with what the server shows in files: open items of
--- reviews, and claims of answers that do not hold.

local text = require("dsh.view.text")

---@type dsh.Command
return {
  run = function()
    local found = require("dsh.workspace").chat().session.client:findings()
    local items = vim.diagnostic.toqflist(found)
    for _, item in ipairs(items) do
      item.text = text.one_line(item.text, 1000)
      -- A finding is about one line; its range ends where the next one begins.
      item.end_lnum, item.end_col = nil, nil
    end
    vim.fn.setqflist({}, " ", { title = "dsh: findings", items = items })
    if #items == 0 then
      vim.notify("dsh: nothing was found that stands in a file", vim.log.levels.INFO)
    end
    -- Closes the list when it is empty.
    vim.cmd("botright cwindow")
  end,
}
