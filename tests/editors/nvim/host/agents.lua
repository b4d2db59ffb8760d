--- Agents that a call starts: what they were asked, their work, their answer.

local t = require("runner")

local api = vim.api
local ROOT = vim.env.DSH_ROOT

--- Opens the agent of a row and waits until its page shows a text.
---@param row integer
---@param text string
local function look_at(row, text)
  t.stand_on(row)
  t.press("<CR>")
  t.wait("the page shows " .. text, function()
    return vim.startswith(vim.fs.basename(api.nvim_buf_get_name(0)), "agent look at the struct")
      and vim.fn.search("\\V" .. text, "nw") > 0
  end)
end

return {
  {
    "a call that starts an agent says what it is for, and opens its work while it goes on",
    function()
      vim.cmd.edit(ROOT .. "/src/lib.rs")
      vim.cmd("Dsh ask delegate drip 60 60")
      look_at(t.wait_for("… subagent look at the struct"), "word10")
      t.equal(vim.fn.search("> drip 60 60", "nw"), 1)
      t.wait("its end", function()
        return vim.wo.winbar:find("has ended", 1, true)
      end)
      t.press("q")
      t.equal(api.nvim_get_current_buf(), t.chat().windows.transcript)
    end,
  },
  {
    "its answer stands in the folded row, with what was asked; <CR> still opens its work",
    function()
      t.wait_for_end()
      local row = t.find("▸ subagent look at the struct · answered")
      t.equal(t.lines()[row + 1], "    asked: drip 60 60")
      t.equal(t.lines()[row + 3]:find("    word0 word1", 1, true), 1)
      t.stand_on(row)
      t.equal(vim.fn.foldclosed(row), row)
      vim.cmd("normal! zo")
      t.equal(vim.fn.foldclosed(row), -1)
      look_at(row, "word59")
      t.press("q")
      t.equal(vim.fn.foldclosed(row), -1, "the fold is as it was left")
    end,
  },
  {
    "the second of two like it is found as well, and one that failed",
    function()
      vim.cmd("Dsh ask delegate cut")
      t.wait_for_end(2)
      local row = t.wait_for("✗ subagent look at the struct")
      look_at(row, "This is all there")
      t.equal(vim.fn.search("> cut", "nw"), 1)
      t.press("q")
    end,
  },
  {
    "an agent of an agent is looked at from there, and q goes back one by one",
    function()
      t.begin()
      vim.cmd("Dsh ask delegate delegate drip 6 60")
      t.wait_for_end()
      look_at(t.find("▸ subagent"), "subagent look at the struct · answered")
      local child = api.nvim_buf_get_lines(0, 0, 1, false)
      vim.fn.search("▸ subagent")
      t.press("<CR>")
      t.wait("the agent's agent", function()
        return api.nvim_buf_get_lines(0, 0, 1, false)[1] == "> drip 6 60"
      end)
      t.press("q")
      t.wait("the agent", function()
        return vim.deep_equal(api.nvim_buf_get_lines(0, 0, 1, false), child)
      end)
      t.press("q")
      t.equal(api.nvim_get_current_buf(), t.chat().windows.transcript)
    end,
  },
  {
    "an agent's page goes on when its server has died",
    function()
      t.begin()
      vim.cmd("Dsh ask delegate drip 100000 60")
      -- Pieces of an answer reach the disk within 200 ms, which is a few words.
      look_at(t.wait_for("… subagent"), "word20")
      vim.uv.kill(t.server_pid(), "sigkill")
      t.wait("it is read again", function()
        return vim.wo.winbar:find("has ended", 1, true) and vim.fn.search("word10", "nw") > 0
      end)
      t.press("q")
      t.wait_for_end()
    end,
  },
  {
    "another session has no pages of the last one's agents open in the chat's window",
    function()
      look_at(t.find("subagent look"), "word10")
      t.begin()
      t.equal(#vim.fn.win_findbuf(t.chat().windows.transcript), 1)
      t.equal(t.lines(), { "" })
      t.equal(next(t.chat().session.followers), nil)
    end,
  },
}
