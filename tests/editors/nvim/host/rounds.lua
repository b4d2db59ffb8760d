--- Deliberation rounds, with a model that plays the session's agent and its branches.

local t = require("runner")

local api = vim.api
local ROOT = vim.env.DSH_ROOT

--- The rows of a round in the chat, with what stands behind them, without its times.
---@return string[]
local function round_rows()
  local first = assert(t.find("◆ deliberation"))
  local rows = vim.list_slice(t.virtual_lines(), first, first + 3)
  return vim.tbl_map(function(row)
    return (row:gsub("%d+:%d%d left", "TIME left"))
  end, rows)
end

---@return string
local function buffer_name()
  return vim.fs.basename(api.nvim_buf_get_name(0))
end

local SETTLED = {
  "◆ deliberation: is it a struct? · 3 branches · 1 update · 1 failed",
  "    ✗ other · independent-alternative · fresh · error",
  "        it ended without a call of `structured_output` that fits",
  "    ✓ audit · trajectory-audit · fork · 1 item",
  "        possible error, likely: Registration is a struct,",
  "          not a trait.",
  "          → src/lib.rs:8  pub struct Registration {",
  "          → src/lib.rs",
  "        1 place that does not hold was left out",
  "    ✓ again · masked-review · mid-fork · no update",
}

--- The row of the branch that never comes out.
---@return string
local function held()
  return (assert(t.virtual("    other")):gsub("%d+:%d%d left", "TIME left"))
end

local HELD = "    … other · independent-alternative · fresh · grep · TIME left"

--- Waits until only the alternative is under way, and searches no more.
local function wait_until_held()
  t.wait_for_virtual("    audit", "completed")
  t.wait_for_virtual("    again", "completed")
  t.wait("the alternative has searched", function()
    return held() == HELD
  end)
end

--- Begins a session with an answer and a person's round over it, and waits until only the
--- alternative is under way.
local function begin_own_round()
  t.begin()
  vim.cmd("Dsh ask is it a struct?")
  t.wait_for_end()
  vim.cmd("Dsh deliberate hold: is it?")
  t.wait_for("◆ your deliberation: hold: is it? · 3 branches")
  t.wait_for_virtual("    audit", "completed")
  t.wait_for_virtual("    review", "completed")
  t.wait_for_virtual("    alternative", "grep")
end

return {
  {
    "a round shows a row for each branch, what it does and how long it may go on",
    function()
      vim.cmd.edit(ROOT .. "/src/lib.rs")
      vim.cmd("Dsh ask deliberate hold: is it a struct?")
      t.wait_for("◆ deliberation")
      wait_until_held()
      t.equal(t.find("… deliberate hold: is it a struct?") ~= nil, true)
      t.equal(round_rows(), {
        "◆ deliberation: hold: is it a struct? · 3 branches · runs",
        HELD,
        "    ✓ audit · trajectory-audit · fork · completed",
        "    ✓ again · masked-review · mid-fork · completed",
      })
    end,
  },
  {
    "the time goes on without a change of text or cursor",
    function()
      local row = t.find("    other")
      t.stand_on(row)
      local buf = t.chat().windows.transcript
      local tick, before = api.nvim_buf_get_changedtick(buf), t.virtual("    other")
      local lines = t.lines()
      t.wait("the time goes on", function()
        return t.virtual("    other") ~= before
      end)
      t.equal(held(), HELD)
      t.equal(api.nvim_buf_get_changedtick(buf), tick)
      t.equal(t.lines(), lines)
      t.equal(api.nvim_win_get_cursor(0)[1], row)
    end,
  },
  {
    "<CR> on a branch shows its agent's work as it goes on, q and <BS> go back",
    function()
      local chat, row = api.nvim_get_current_buf(), api.nvim_win_get_cursor(0)[1]
      for _, back in ipairs({ "q", "<BS>" }) do
        t.press("<CR>")
        local child = api.nvim_get_current_buf()
        t.equal(buffer_name(), "agent other")
        t.equal(vim.bo.modifiable, false)
        local function shown(text)
          return vim.fn.search("\\V" .. text, "nw") > 0
        end
        t.wait("its words", function()
          return shown("word20")
        end)
        t.equal(shown("Decision question"), true)
        t.equal(shown("▸ grep Registration · 1 match"), true)
        t.equal(vim.wo.winbar:find("other · works · q goes back", 1, true) ~= nil, true)
        local seen = vim.api.nvim_buf_line_count(0)
        t.wait("more of them", function()
          return vim.api.nvim_buf_line_count(0) > seen
        end)
        t.press(back)
        t.equal(api.nvim_get_current_buf(), chat)
        t.equal(api.nvim_win_get_cursor(0)[1], row)
        t.equal(api.nvim_buf_is_valid(child), false)
        t.equal(next(t.chat().session.followers), nil)
      end
    end,
  },
  {
    "a question from elsewhere brings the chat back into the agent's window",
    function()
      t.press("<CR>")
      t.equal(buffer_name(), "agent other")
      local win = api.nvim_get_current_win()
      vim.cmd("wincmd t")
      vim.cmd("Dsh ask and then?")
      t.equal(api.nvim_win_get_buf(win), t.chat().windows.transcript)
      t.equal(#vim.fn.win_findbuf(t.chat().windows.transcript), 1)
      t.wait_for("> and then?  (waits)")
    end,
  },
  {
    "cancel on a branch cancels that branch; the round comes out and the answer goes on",
    function()
      t.stand_on(t.find("    other"))
      vim.cmd("Dsh cancel")
      t.wait_for_end(2)
      t.equal(
        t.virtual("    other"),
        "    ✗ other · independent-alternative · fresh · aborted"
      )
      t.wait_for("▸ deliberate hold: is it a struct?")
      t.wait_for("You said: deliberate hold: is it a struct?")
      t.equal(t.count("✗ cancelled"), 0)
    end,
  },
  {
    "what came out stands below the branches, and a replay shows the same",
    function()
      t.begin()
      vim.cmd("Dsh ask deliberate is it a struct?")
      t.wait_for_end()
      local first = t.find("◆ deliberation")
      t.equal(vim.list_slice(t.virtual_lines(), first, first + #SETTLED - 1), SETTLED)
      t.equal(t.replayed(), t.virtual_lines())
    end,
  },
  {
    "a place is gone to, with a line and without; what failed can be looked at",
    function()
      local with_line = t.find("→ src/lib.rs:8")
      for row, line in pairs({ [with_line] = 8, [with_line + 1] = 1 }) do
        for _, keys in ipairs({ "gf", "<CR>" }) do
          t.stand_on(row)
          t.press(keys)
          t.equal(api.nvim_buf_get_name(0), ROOT .. "/src/lib.rs")
          t.equal(api.nvim_win_get_cursor(0)[1], line)
          vim.cmd("normal! G")
        end
      end
      t.stand_on(t.find("    other"))
      t.press("<CR>")
      t.wait("its answer", function()
        return vim.fn.search("I would rather talk", "nw") > 0
      end)
      t.equal(vim.wo.winbar:find("has ended", 1, true) ~= nil, true)
      t.press("q")
    end,
  },
  {
    "cancel anywhere else stops the answer with its round",
    function()
      t.begin()
      vim.cmd("Dsh ask deliberate hold: again?")
      t.wait_for("◆ deliberation")
      wait_until_held()
      vim.cmd("wincmd t")
      vim.cmd("Dsh cancel")
      t.wait_for("✗ cancelled")
      t.wait_for_end()
      t.equal(
        t.virtual("    other"),
        "    ✗ other · independent-alternative · fresh · aborted"
      )
      t.equal(t.replayed(), t.virtual_lines())
    end,
  },
  {
    "a person's round over the last answer runs beside the session, and is cancelled as a whole",
    function()
      begin_own_round()
      vim.cmd("Dsh ask meanwhile")
      t.wait_for("You said: meanwhile")
      t.stand_on(t.find("◆ your deliberation"))
      vim.cmd("Dsh cancel")
      t.wait_for_virtual("    alternative", "aborted")
      t.wait_for_virtual("◆ your deliberation", "1 update")
      t.equal(t.find("You said: meanwhile") > t.find("→ src/lib.rs:8"), true)
      t.equal(t.replayed(), t.virtual_lines())
    end,
  },
  {
    "an agent that inherited the session says where its own work begins",
    function()
      t.stand_on(t.find("    audit"))
      t.press("<CR>")
      t.wait("its work", function()
        return vim.wo.winbar:find("has ended", 1, true)
      end)
      t.equal(vim.fn.search("> is it a struct?", "nw"), 1)
      local own = vim.fn.search("· what stands above was inherited", "nw")
      t.equal(own > 1, true)
      t.equal(vim.fn.search("Decision question", "nw") > own, true)
      t.press("q")
    end,
  },
  {
    "cancel elsewhere stops a person's round as well",
    function()
      begin_own_round()
      t.stand_on(1)
      vim.cmd("Dsh cancel")
      t.wait_for_virtual("    alternative", "aborted")
      t.wait_for_virtual("◆ your deliberation", "1 failed")
      t.told = {}
      vim.cmd("Dsh cancel")
      t.equal(t.told, { "dsh: nothing is running" })
    end,
  },
  {
    "an answer that is being written stays whole when a round above it comes out",
    function()
      begin_own_round()
      vim.cmd("Dsh ask drip 120 120")
      t.wait_for("word20")
      t.stand_on(t.find("◆ your deliberation"))
      vim.cmd("Dsh cancel")
      t.wait_for("→ src/lib.rs:8")
      t.equal(t.find("word119"), nil, "it is still being written")
      t.wait_for_end(2)
      t.equal(t.replayed(), t.virtual_lines())
    end,
  },
  {
    "one branch is cancelled at its row, another one in its agent's page; the rest go on",
    function()
      t.begin()
      vim.cmd("Dsh ask is it a struct?")
      t.wait_for_end()
      vim.cmd("Dsh deliberate hold all: is it?")
      for _, label in ipairs({ "alternative", "audit", "review" }) do
        t.wait_for_virtual("    " .. label, "grep")
      end
      t.stand_on(t.find("    audit"))
      t.press("<CR>")
      t.wait("its work", function()
        return vim.fn.search("word5", "nw") > 0
      end)
      t.press("<C-c>")
      t.wait("its end", function()
        return vim.wo.winbar:find("has ended", 1, true)
      end)
      t.press("q")
      t.wait_for_virtual("    audit", "aborted")
      t.stand_on(t.find("    alternative"))
      vim.cmd("Dsh cancel")
      t.wait_for_virtual("    alternative", "aborted")
      t.equal(t.virtual("    review"):find("… review", 1, true) ~= nil, true)
      t.stand_on(t.find("◆ your deliberation"))
      vim.cmd("Dsh cancel")
      t.wait_for_virtual("◆ your deliberation", "3 failed")
    end,
  },
  {
    "a round whose server dies is not said to run",
    function()
      begin_own_round()
      vim.uv.kill(t.server_pid(), "sigkill")
      t.wait_for_virtual("    alternative", "did not come out")
      t.wait_for_virtual("◆ your deliberation", "did not come out")
    end,
  },
  {
    "a round of a turn that broke off with its server comes out when the log is repaired",
    function()
      t.begin()
      vim.cmd("Dsh ask deliberate hold: is it?")
      t.wait_for("◆ deliberation")
      wait_until_held()
      vim.uv.kill(t.server_pid(), "sigkill")
      t.wait_for("✗ interrupted")
      t.wait("it is not said to run", function()
        return not t.virtual("◆ deliberation"):find("runs", 1, true)
      end)
      t.equal(t.virtual("    other"):find("✗ other", 1, true) ~= nil, true)
      local first = t.find("◆ deliberation")
      t.equal(
        vim.list_slice(t.replayed(), first, first + 3),
        vim.list_slice(t.virtual_lines(), first, first + 3)
      )
    end,
  },
  {
    "what cannot be deliberated about is said",
    function()
      t.begin()
      vim.cmd("Dsh deliberate is it?")
      t.wait_for("✗ there is no answer yet that could be deliberated about")
      vim.cmd("Dsh ask drip 100000 100")
      t.wait_for("word5")
      vim.cmd("Dsh deliberate is it?")
      t.wait_for("✗ no round was begun: ")
      vim.cmd("Dsh cancel")
      t.wait_for_end()
    end,
  },
  {
    "without a goal the last question is offered",
    function()
      local offered
      vim.ui.input = function(options, answered)
        offered = options.default
        answered(nil)
      end
      vim.cmd("Dsh deliberate")
      t.equal(offered, "drip 100000 100")
      t.equal(vim.fn.getcompletion("Dsh deliberate ", "cmdline"), { "drip 100000 100" })
    end,
  },
}
