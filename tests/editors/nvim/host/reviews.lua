--- Reviews of turns: their rows in the chat, what they find in files, and what a person says of it.

local t = require("runner")

local api = vim.api
local ROOT = vim.env.DSH_ROOT
local FILE = ROOT .. "/src/lib.rs"
local PATCH = vim.env.DSH_LS_HOME .. "/cordis.patch.yml"

local DRAFT = "draft: a review reads it"
local ANSWER = "Only `src/lib.rs:8` defines a Registration."

--- The rows of the first review, with what stands behind them, without its times.
---@param count integer
---@return string[]
local function review_rows(count)
  local first = assert(t.find("◆"))
  local rows = vim.list_slice(t.virtual_lines(), first, first + count - 1)
  return vim.tbl_map(function(row)
    return (row:gsub("%d+:%d%d$", "TIME"))
  end, rows)
end

--- What stands behind the lines of the file, by line.
---@return table<integer, string>
local function behind_lines()
  local shown = {}
  local options = { details = true, type = "virt_text" }
  for _, mark in ipairs(api.nvim_buf_get_extmarks(vim.fn.bufnr(FILE), -1, 0, -1, options)) do
    local words = vim.tbl_map(function(chunk)
      return chunk[1]
    end, mark[4].virt_text)
    shown[mark[2] + 1] = vim.trim(table.concat(words))
  end
  return shown
end

--- Fills the quickfix list; returns the lines of the file that it leads to.
---@return integer[]
local function findings()
  local win = api.nvim_get_current_win()
  vim.cmd("Dsh findings")
  vim.cmd.cclose()
  api.nvim_set_current_win(win)
  local lines = {}
  for _, item in ipairs(vim.fn.getqflist()) do
    if item.bufnr == vim.fn.bufnr(FILE) then
      table.insert(lines, item.lnum)
    end
  end
  return lines
end

--- Waits until the server has findings on these lines of the file and no others, and text stands
--- behind them: the text moves with its line before the server has heard of it.
---@param wanted integer[]
local function wait_for_lines(wanted)
  t.wait("findings on the lines " .. table.concat(wanted, ", "), function()
    local lines = vim.tbl_keys(behind_lines())
    table.sort(lines)
    return vim.deep_equal(lines, wanted) and vim.deep_equal(findings(), wanted)
  end)
end

--- Begins a session with an answer and a person's review of it.
---@param what string
local function review(what)
  t.begin()
  vim.cmd("Dsh ask check " .. what)
  t.wait_for_end()
  vim.cmd("Dsh review")
end

--- Chooses the code action on the cursor's line that has a title, when it is offered.
---@param title string
---@param before? fun() What is done before it is chosen.
local function act(title, before)
  local offered
  vim.ui.select = function(actions, _, chosen)
    for _, action in ipairs(actions) do
      local own = action.action or action
      if own.title == title and not offered then
        offered = action
        if before then
          before()
        end
        chosen(action)
      end
    end
  end
  vim.lsp.buf.code_action()
  t.wait("the code action " .. title, function()
    return offered
  end)
end

---@param line integer
local function stand_in_file(line)
  vim.cmd("wincmd t")
  if api.nvim_buf_get_name(0) ~= FILE then
    vim.cmd.edit(FILE)
  end
  api.nvim_win_set_cursor(0, { line, 0 })
end

---@return string
local function patch()
  return table.concat(vim.fn.filereadable(PATCH) == 1 and vim.fn.readfile(PATCH) or {}, "\n")
end

return {
  {
    "without an answer there is nothing to review, and the chat says so",
    function()
      t.begin()
      vim.cmd("Dsh review")
      t.wait_for("✗ there is no answer yet that could be reviewed")
    end,
  },
  {
    "while a review runs its row counts the time, and the answer is a draft without being moved",
    function()
      t.begin()
      vim.cmd("Dsh ask check hold")
      t.wait_for_end()
      local before = t.lines()
      vim.cmd("Dsh review")
      t.wait_for("◆ your review")
      t.equal(review_rows(1), { "◆ your review · reads the answer again · TIME" })
      t.equal(t.virtual_lines()[t.find(ANSWER) - 1], DRAFT)
      t.equal(vim.list_slice(t.lines(), 1, #before), before)
      local tick = api.nvim_buf_get_changedtick(t.chat().windows.transcript)
      local shown = t.virtual("◆ your review")
      t.wait("the time goes on", function()
        return t.virtual("◆ your review") ~= shown
      end)
      t.equal(api.nvim_buf_get_changedtick(t.chat().windows.transcript), tick)
    end,
  },
  {
    "<CR> on its row shows the reviewer's work, q goes back",
    function()
      t.stand_on(t.find("◆ your review"))
      t.press("<CR>")
      t.wait("what it was told", function()
        return vim.fn.search("You are one isolated", "nw") > 0
      end)
      t.equal(vim.wo.winbar:find("review · works · q goes back", 1, true) ~= nil, true)
      t.press("q")
      t.equal(api.nvim_get_current_buf(), t.chat().windows.transcript)
    end,
  },
  {
    "when it has come out the answer is no draft, and what was found stands below the row",
    function()
      vim.cmd("Dsh ask release")
      t.wait_for_virtual("◆ your review", "2 items")
      t.wait_for_end(2)
      t.equal(review_rows(7), {
        "◆ your review · 2 items",
        "    ○ possible error, likely: Registration is a struct,",
        "      not a trait.",
        "      → src/lib.rs:8  pub struct Registration {",
        "      → src/lib.rs",
        "    ○ unknown, uncertain: Nobody looked at the callers.",
        "      → src/lib.rs:4",
      })
      t.equal(table.concat(t.virtual_lines(), "\n"):find("draft", 1, true), nil)
      t.equal(t.replayed(), t.virtual_lines())
    end,
  },
  {
    "it is shown behind the lines of a file that is opened later, and nothing else of Neovim is",
    function()
      t.equal(vim.fn.bufloaded(FILE), 0)
      stand_in_file(1)
      wait_for_lines({ 1, 4, 8 })
      local shown = behind_lines()
      t.equal(shown[8]:find("Registration is a struct,", 1, true) ~= nil, true, shown[8])
      t.equal(shown[4]:find("Nobody looked at the callers.", 1, true) ~= nil, true, shown[4])
      local own = api.nvim_create_namespace("of another client")
      local diagnostic = { lnum = 2, col = 0, message = "else" }
      vim.diagnostic.set(own, vim.fn.bufnr(FILE), { diagnostic })
      local is_default = vim.fn.has("nvim-0.11") == 0
      t.equal(behind_lines()[3] ~= nil, is_default, "another client's is shown as Neovim does")
      vim.diagnostic.reset(own)
    end,
  },
  {
    "the quickfix list has it, and leads to its line",
    function()
      vim.cmd("Dsh findings")
      t.equal(vim.bo.buftype, "quickfix")
      api.nvim_win_set_cursor(0, { 3, 0 })
      t.press("<CR>")
      t.equal(api.nvim_buf_get_name(0), FILE)
      t.equal(api.nvim_win_get_cursor(0)[1], 8)
      t.equal(
        vim.fn.getqflist()[3].text:find("^Registration is a struct, not a trait%.") ~= nil,
        true
      )
      vim.cmd.cclose()
    end,
  },
  {
    "it goes along when lines are written above it",
    function()
      stand_in_file(1)
      api.nvim_buf_set_lines(0, 2, 2, false, { "// one more" })
      wait_for_lines({ 1, 5, 9 })
      stand_in_file(1)
      vim.cmd("undo")
      wait_for_lines({ 1, 4, 8 })
    end,
  },
  {
    "<CR> on an item and on its places goes there",
    function()
      local first = t.find("possible error, likely")
      local wanted = { [first] = 8, [first + 1] = 8, [first + 2] = 8, [first + 3] = 1 }
      wanted[t.find("unknown, uncertain")] = 4
      for row, line in pairs(wanted) do
        for _, keys in ipairs({ "gf", "<CR>" }) do
          t.stand_on(row)
          t.press(keys)
          t.equal(api.nvim_buf_get_name(0), FILE)
          t.equal(api.nvim_win_get_cursor(0)[1], line)
          vim.cmd("normal! G")
        end
      end
    end,
  },
  {
    "dismissed by a code action, it is gone from the file and from the list, and the chat says so",
    function()
      stand_in_file(8)
      act("Dismiss")
      t.wait_for_virtual("possible error", " · dismissed")
      t.equal(t.virtual("possible error"):find("    ✗ possible", 1, true), 1)
      wait_for_lines({ 4 })
    end,
  },
  {
    "accepted in the chat, it is gone from the file and from the list as well",
    function()
      t.stand_on(t.find("unknown, uncertain"))
      t.press("+")
      t.wait_for_virtual("unknown, uncertain", " · accepted")
      wait_for_lines({})
      t.told = {}
      t.equal(findings(), {})
      t.equal(t.told, { "dsh: nothing was found that stands in a file" })
      t.equal(t.replayed(), t.virtual_lines())
    end,
  },
  {
    "- dismisses and opens again, and so does :Dsh dismiss, also on an item's places",
    function()
      review("again")
      t.wait_for_virtual("◆ your review", "2 items")
      stand_in_file(1)
      wait_for_lines({ 1, 4, 8 })
      t.stand_on(t.find("→ src/lib.rs:4"))
      t.press("-")
      t.wait_for_virtual("unknown, uncertain", " · dismissed")
      wait_for_lines({ 1, 8 })
      t.press("-")
      t.wait_for_virtual("unknown, uncertain", "    ○ unknown")
      t.stand_on(t.find("not a trait"))
      vim.cmd("Dsh dismiss")
      t.wait_for_virtual("possible error", " · dismissed")
      vim.cmd("Dsh accept")
      t.wait_for_virtual("possible error", " · accepted")
      wait_for_lines({ 4 })
      t.stand_on(t.find("unknown, uncertain"))
      t.press("-")
      wait_for_lines({})
      t.equal(t.replayed(), t.virtual_lines())
      t.told = {}
      t.stand_on(t.find(ANSWER))
      t.press("-")
      t.equal(t.told, { "dsh: the cursor is not on an item of a review in the chat" })
    end,
  },
  {
    "the agent is asked about it by a code action, and the chat shows the answer",
    function()
      review("again")
      t.wait_for_virtual("◆ your review", "2 items")
      local windows = t.chat().windows
      api.nvim_win_close(vim.fn.win_findbuf(windows.transcript)[1], true)
      stand_in_file(8)
      wait_for_lines({ 1, 4, 8 })
      act("Ask the agent about this")
      t.wait("the chat", function()
        return #vim.fn.win_findbuf(windows.transcript) == 1
      end)
      t.wait_for_end(2)
      t.wait_for("> Look at src/lib.rs:8")
      t.wait_for("You said: Look at src/lib.rs:8")
      t.equal(api.nvim_buf_get_name(0), FILE)
      t.equal(vim.fn.bufnr("answers/"), -1, "no document is opened beside the chat")
    end,
  },
  {
    "its answer is a document when another session was begun meanwhile",
    function()
      t.begin()
      stand_in_file(4)
      wait_for_lines({ 1, 4, 8 })
      act("Ask the agent about this", function()
        t.stand_on(1)
      end)
      t.wait("the document", function()
        return api.nvim_buf_get_name(0):find("/answers/", 1, true)
      end)
      t.equal(vim.fn.search("You said: Look at src/lib.rs:4", "nw"), 1)
      t.equal(#vim.fn.win_findbuf(t.chat().windows.transcript), 1)
      stand_in_file(4)
      act("Dismiss")
      wait_for_lines({ 1, 8 })
      stand_in_file(8)
      act("Dismiss")
      wait_for_lines({})
    end,
  },
  {
    "what found nothing, and what failed, is one quiet line",
    function()
      review("nothing")
      t.wait_for_virtual("◆ your review", " · no update")
      t.equal(t.find("◆ your review"), #t.lines())
      t.equal(t.replayed(), t.virtual_lines())
      review("badly")
      t.wait_for_virtual("◆ your review", " · failed: error")
      t.equal(t.find("◆ your review"), #t.lines())
      t.equal(t.replayed(), t.virtual_lines())
    end,
  },
  {
    "a claim that does not hold is in the file and in the list until it is dismissed",
    function()
      t.begin()
      vim.cmd("Dsh ask cite")
      t.wait_for_end()
      stand_in_file(1)
      wait_for_lines({ 4, 8, 10 })
      stand_in_file(8)
      act("Dismiss")
      wait_for_lines({ 4, 10 })
    end,
  },
  {
    "diagnostics of the chat follow their lines when a review above comes out",
    function()
      review("hold")
      vim.cmd("Dsh ask cite")
      t.wait_for_end(2)
      vim.cmd("Dsh ask release")
      t.wait_for_virtual("◆ your review", "2 items")
      t.wait_for_end(3)
      local namespace = api.nvim_create_namespace("dsh.evidence")
      local buf = t.chat().windows.transcript
      local first = vim.diagnostic.get(buf, { namespace = namespace })[1]
      t.equal(first.lnum + 1, t.find("Further down"))
      t.equal(t.replayed(), t.virtual_lines())
    end,
  },
  {
    ":Dsh review on writes the home's patch, and the next turn is reviewed before it ends",
    function()
      t.begin()
      t.equal(patch(), "")
      vim.cmd("Dsh review on")
      t.wait("it is told", function()
        return t.told[1]
      end)
      t.equal(t.told, { "dsh: turns are reviewed before they end; `:Dsh review off` ends that" })
      t.equal(patch():find("enabled: true", 1, true) ~= nil, true, patch())
      t.wait("it stands above the chat", function()
        return t.chat().windows.page.bar:find("reviews turns", 1, true)
      end)
      vim.cmd("Dsh ask check it")
      t.wait_for_end()
      t.equal(t.virtual("◆ review"), "◆ review · 2 items · the agent is told")
      local notice = t.find("▸ masked review checkpoint · update · 2 items")
      t.equal(notice > t.find("→ src/lib.rs:4"), true)
      t.equal(t.find("On a second look there is more to say.") > notice, true)
      t.equal(t.count('"role"') == 1, true, "the packet is shown once, in the fold of the notice")
      t.equal(t.replayed(), t.virtual_lines())
    end,
  },
  {
    "cancel during such a review cancels both, and the answer is no draft any more",
    function()
      t.begin()
      vim.cmd("Dsh ask check hold")
      t.wait_for("◆ review")
      t.equal(t.virtual_lines()[t.find(ANSWER) - 1], DRAFT)
      t.equal(t.chat().status, "running")
      vim.cmd("Dsh cancel")
      t.wait_for_end()
      t.equal(t.virtual("◆ review"), "◆ review · cancelled")
      t.wait_for("✗ cancelled")
      t.equal(t.virtual_lines()[t.find(ANSWER) - 1], "")
      t.equal(t.replayed(), t.virtual_lines())
    end,
  },
  {
    ":checkhealth says whether turns are reviewed",
    function()
      vim.cmd("checkhealth dsh")
      local text = table.concat(api.nvim_buf_get_lines(0, 0, -1, false), "\n")
      vim.cmd("bwipeout!")
      t.equal(text:find("turns are reviewed before they end", 1, true) ~= nil, true, text)
    end,
  },
  {
    ":Dsh review off ends it",
    function()
      t.begin()
      vim.cmd("Dsh review off")
      t.wait("it is told", function()
        return t.told[1]
      end)
      t.equal(t.told[1]:find("^dsh: turns are reviewed when you ask for it") ~= nil, true)
      t.equal(patch():find("enabled: false", 1, true) ~= nil, true, patch())
      t.wait("nothing of it stands above the chat", function()
        return not t.chat().windows.page.bar:find("reviews turns", 1, true)
      end)
      vim.cmd("Dsh ask check it")
      t.wait_for_end()
      t.equal(t.find("◆"), nil)
      vim.cmd("Dsh review maybe")
      t.equal(t.told[#t.told], "dsh: `:Dsh review` takes `on`, `off` or nothing")
      t.equal(vim.fn.getcompletion("Dsh review ", "cmdline"), { "off", "on" })
    end,
  },
  {
    "a change by another's hand is seen above the chat",
    function()
      local changed = patch():gsub("enabled: false", "enabled: true")
      vim.fn.writefile(vim.split(changed, "\n"), PATCH)
      t.wait("it stands above the chat", function()
        return t.chat().windows.page.bar:find("reviews turns", 1, true)
      end)
    end,
  },
  {
    "a review whose server dies is not said to run, and comes out when the log is repaired",
    function()
      vim.cmd("Dsh review off")
      t.wait("it is off", function()
        return t.chat().session.auto_review.enabled == false
      end)
      review("hold")
      t.wait_for_virtual("◆ your review", "reads the answer again")
      local pid = t.server_pid()
      local config = { cmd = { vim.env.DSH_LS }, model = vim.env.DSH_MODEL }
      require("dsh").setup(vim.tbl_extend("force", config, { cmd = { "no-such-program" } }))
      vim.uv.kill(pid, "sigkill")
      t.wait_for_virtual("◆ your review", "did not come out")
      require("dsh").setup(config)
      vim.cmd("Dsh chat")
      t.press("<Esc>")
      t.wait_for_virtual("◆ your review", "failed: interrupted")
      t.equal(t.virtual_lines()[t.find(ANSWER) - 1], "")
    end,
  },
  {
    "a person can do without the text behind lines",
    function()
      require("dsh").setup({
        cmd = { vim.env.DSH_LS },
        model = vim.env.DSH_MODEL,
        virtual_text = false,
      })
      t.begin()
      vim.uv.kill(t.server_pid(), "sigkill")
      t.wait_for("✗ the server ended")
      review("again")
      stand_in_file(1)
      -- With what stands open in earlier sessions, which another server shows again.
      t.wait("findings", function()
        local lines = findings()
        return vim.iter({ 1, 4, 8 }):all(function(line)
          return vim.tbl_contains(lines, line)
        end)
      end)
      t.equal(behind_lines(), {})
      require("dsh").setup({ virtual_text = 1 })
      t.equal(t.told[#t.told]:find("`virtual_text` must be true, false, or", 1, true) ~= nil, true)
    end,
  },
}
