--- Commands that are typed where prompts are.

local t = require("runner")

local api = vim.api

--- Types a prompt and sends it.
---@param text string
local function send(text)
  vim.cmd("Dsh chat")
  vim.cmd("stopinsert")
  api.nvim_buf_set_lines(t.chat().windows.input, 0, -1, false, vim.split(text, "\n"))
  t.press("<CR>")
  t.equal(api.nvim_buf_get_lines(0, 0, -1, false), { "" })
end

--- How many prompts the session has had.
---@return integer
local function prompts()
  return #vim.tbl_filter(function(entry)
    return entry.label == "user"
  end, t.chat().session.model.entries)
end

return {
  {
    "a command without a session is refused, and begins none",
    function()
      vim.cmd.edit(vim.env.DSH_ROOT .. "/src/lib.rs")
      send("/deliberate is it?")
      t.wait_for("✗ there is no session yet that a command could be about: ask first")
      t.equal(t.chat().session.info, nil)
    end,
  },
  {
    "one that is not offered is refused with those that are",
    function()
      send("/vote now")
      local row = t.wait_for("✗ there is no command `/vote`; there are: ")
      t.equal(t.lines()[row]:find("`/deliberate GOAL`", 1, true) ~= nil, true)
    end,
  },
  {
    "what a command cannot do it says in one row",
    function()
      t.begin()
      send("is it a struct?")
      t.wait_for_end()
      send("/deliberate")
      t.wait_for("✗ /deliberate · say what to decide: `/deliberate GOAL`")
      t.equal(t.find("> /deliberate") ~= nil, true)
    end,
  },
  {
    "what it says is folded below the round that it began, and nothing is asked",
    function()
      send("  /deliberate is it\nsafe?")
      t.wait_for("◆ your deliberation: is it safe? · 3 branches")
      local row = t.wait_for("▸ /deliberate · ")
      t.stand_on(row)
      t.equal(vim.fn.foldclosed(row), row)
      t.equal(t.lines()[row + 1]:match("^    %S+ %([a-z-]+%):") ~= nil, true)
      t.equal(row > t.find("→ src/lib.rs:8"), true)
      t.equal(prompts(), 1)
    end,
  },
  {
    "what a command says after another session was begun is not shown there",
    function()
      t.begin()
      send("is it a struct?")
      t.wait_for_end()
      send("/deliberate hold: is it?")
      t.wait_for_virtual("    alternative", "grep")
      t.begin()
      send("and now?")
      t.wait_for_end()
      t.equal(t.count("/deliberate"), 0)
    end,
  },
}
