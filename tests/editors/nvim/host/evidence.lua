--- Claims of an answer that do not hold: shown at the citation, and had by `vim.diagnostic`.

local t = require("runner")

local api = vim.api
local ROOT = vim.env.DSH_ROOT

local namespace = api.nvim_create_namespace("dsh.evidence")

---@return vim.Diagnostic[]
local function diagnostics()
  return vim.diagnostic.get(t.chat().windows.transcript, { namespace = namespace })
end

--- Where the claims of the answer to `cite` stand that do not hold.
---@return integer[]
local function flawed_rows()
  return vim.tbl_map(t.find, { "Further down", "The file ends", "See also", "From `" })
end

---@param line integer
---@param word string
---@param keys string
local function press_on(line, word, keys)
  t.stand_on(line)
  local column = api.nvim_get_current_line():find(word, 1, true)
  api.nvim_win_set_cursor(0, { line, column - 1 })
  t.press(keys)
end

return {
  {
    "an answer that holds is shown without a word about it",
    function()
      vim.cmd.edit(ROOT .. "/src/lib.rs")
      vim.cmd("Dsh ask Registration is in `src/lib.rs:8`")
      t.wait_for("You said")
      t.wait_for_end()
      t.equal(diagnostics(), {})
      t.equal(t.virtual_lines(), t.lines())
    end,
  },
  {
    "what does not hold is said at its citation and moves no text",
    function()
      t.begin()
      vim.cmd("Dsh ask cite")
      t.wait_for_end()
      t.equal(
        t.virtual("is a struct"),
        "`Registration` is a struct (`src/lib.rs:8`), and this holds."
      )
      t.equal(
        t.virtual("Further down"),
        "- Further down is `retry_request` (`src/lib.rs:9`)"
          .. " ⚠ `retry_request` is not near, but on line 4."
      )
      t.equal(
        t.virtual("The file ends"),
        "- The file ends at `src/lib.rs:70` ⚠ the file has no line 70."
      )
      t.equal(t.virtual("See also"), "- See also `src/gone.rs:3` ⚠ there is no such file.")
      t.equal(t.virtual("From `"), "From `src/lib.rs:2` ⚠ what is quoted is on line 8:")
      t.equal(t.find("⚠"), nil)
    end,
  },
  {
    "the same stand in vim.diagnostic, in the order of the answer, with a sign each",
    function()
      local codes, rows = {}, {}
      for number, diagnostic in ipairs(diagnostics()) do
        codes[number], rows[number] = diagnostic.code, diagnostic.lnum + 1
      end
      t.equal(codes, { "identifier-not-near", "line-out-of-range", "missing-file", "quote-moved" })
      t.equal(rows, flawed_rows())
      local buf, shown = t.chat().windows.transcript, {}
      local options = { details = true, type = "sign" }
      for _, mark in ipairs(api.nvim_buf_get_extmarks(buf, -1, 0, -1, options)) do
        shown[mark[2] + 1] = true
      end
      for _, row in ipairs(rows) do
        t.equal(shown[row], true, "a sign on line " .. row)
      end
    end,
  },
  {
    "]d goes from one to the next, and the quickfix list has them",
    function()
      t.stand_on(1)
      local rows = {}
      for number = 1, 4 do
        t.press("]d")
        rows[number] = api.nvim_win_get_cursor(0)[1]
      end
      t.equal(rows, flawed_rows())
      vim.diagnostic.setqflist({ namespace = namespace, open = false })
      local list = vim.fn.getqflist()
      t.equal(#list, 4)
      local told = "src/lib.rs:2: what is quoted is on line 8: pub struct Registration {"
      t.equal(list[4].text, told)
    end,
  },
  {
    "gf goes to where a moved quote stands now, and elsewhere as written",
    function()
      press_on(t.find("From `"), "src/lib.rs", "gf")
      t.equal(api.nvim_get_current_line(), "pub struct Registration {")
      press_on(t.find("Further down"), "src/lib.rs", "gf")
      t.equal(api.nvim_win_get_cursor(0)[1], 4)
      press_on(t.find("is a struct"), "src/lib.rs", "gf")
      t.equal(api.nvim_win_get_cursor(0)[1], 8)
      press_on(t.find("See also"), "src/gone.rs", "gf")
      t.equal(t.told[1]:find("there is no such file", 1, true) ~= nil, true)
    end,
  },
  {
    "another session is without them, a chat that comes back has them",
    function()
      local before = t.virtual_lines()
      local windows = t.chat().windows
      vim.cmd(("bwipeout! %d %d"):format(windows.transcript, windows.input))
      vim.cmd("Dsh chat")
      t.press("<Esc>")
      t.equal(t.virtual_lines(), before)
      t.equal(#diagnostics(), 4)
      t.begin()
      t.equal(diagnostics(), {})
      t.equal(t.virtual_lines(), { "" })
    end,
  },
  {
    "diagnostics follow their lines when a round above comes out",
    function()
      vim.cmd("Dsh ask is it a struct?")
      t.wait_for_end()
      vim.cmd("Dsh deliberate hold: is it?")
      t.wait_for_virtual("    audit", "completed")
      vim.cmd("Dsh ask cite")
      t.wait_for_end(2)
      local before = flawed_rows()
      t.stand_on(t.find("◆ your deliberation"))
      vim.cmd("Dsh cancel")
      t.wait_for("→ src/lib.rs:8")
      t.equal(flawed_rows()[1] > before[1], true)
      local rows = vim.tbl_map(function(diagnostic)
        return diagnostic.lnum + 1
      end, diagnostics())
      t.equal(rows, flawed_rows())
    end,
  },
}
