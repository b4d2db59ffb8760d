--- What a model may write to break an editor, or to make it open what lies outside.

local t = require("runner")

local ROOT = vim.env.DSH_ROOT

---@param line integer
---@param word string
local function press_on(line, word)
  t.stand_on(line)
  local column = vim.api.nvim_get_current_line():find(word, 1, true)
  vim.api.nvim_win_set_cursor(0, { line, column - 1 })
  t.press("gf")
end

return {
  {
    "a tool's name with line ends and a NUL is one row; no control character reaches the buffer",
    function()
      vim.cmd.edit(ROOT .. "/src/lib.rs")
      vim.cmd("Dsh ask hostile")
      t.wait_for_end()
      t.equal(t.find("bad name"), 3)
      for _, line in ipairs(t.lines()) do
        t.equal(line:find("[%z\1-\8\10-\31\127]"), nil, line)
        t.equal(#line <= 2000, true)
      end
      t.equal(vim.bo[t.chat().windows.transcript].modifiable, false)
    end,
  },
  {
    "citations outside the folder are refused, also through a link",
    function()
      local row = t.wait_for("outside `/etc/passwd:1`")
      for _, word in ipairs({ "/etc/passwd", "../outside.txt", "link.txt" }) do
        t.told = {}
        press_on(row, word)
        t.equal(#t.told, 1)
        t.equal(t.told[1]:find("outside the workspace", 1, true) ~= nil, true, t.told[1])
        t.equal(vim.api.nvim_get_current_buf(), t.chat().windows.transcript)
      end
      t.told = {}
      press_on(row, "src/none.rs")
      t.equal(t.told[1]:find("there is no such file", 1, true) ~= nil, true)
      for _, buf in ipairs(vim.api.nvim_list_bufs()) do
        local name = vim.api.nvim_buf_get_name(buf)
        t.equal(name:find("passwd") or name:find("outside") or name:find("link"), nil, name)
      end
    end,
  },
  {
    "a citation inside is opened all the same",
    function()
      press_on(t.wait_for("inside `src/lib.rs:8`"), "src/lib.rs")
      t.equal(vim.api.nvim_buf_get_name(0), ROOT .. "/src/lib.rs")
      t.equal(vim.api.nvim_win_get_cursor(0)[1], 8)
    end,
  },
  {
    "a line that names no place says so",
    function()
      t.told = {}
      t.stand_on(1)
      t.press("<CR>")
      t.equal(t.told, { "dsh: no citation such as path:line on this line" })
    end,
  },
}
