--- With the model that needs no key and no network: what a person sees in the first minute.

local t = require("runner")

local ROOT = vim.env.DSH_ROOT

return {
  {
    "loading the plugin loads none of its modules",
    function()
      for name in pairs(package.loaded) do
        local is_ours = vim.startswith(name, "dsh.") and name ~= "dsh.config"
        t.equal(is_ours, false, name)
      end
    end,
  },
  {
    "a question shows the tools and the answer, and keeps the cursor in the file",
    function()
      vim.cmd.edit(ROOT .. "/src/lib.rs")
      local win = vim.api.nvim_get_current_win()
      vim.cmd("Dsh ask where is Registration defined?")
      t.wait_for_end()
      t.equal(t.find("> where is Registration defined?"), 1)
      t.wait_for("▸ grep \\bRegistration\\b · 1 match")
      t.wait_for("`src/lib.rs:8`: `pub struct Registration {` (struct)")
      t.equal(t.count("offline/retrieval: found by search"), 1)
      t.equal(vim.api.nvim_get_current_win(), win)
    end,
  },
  {
    "a round over the answer runs without a key, and each branch's work can be looked at",
    function()
      vim.cmd("Dsh deliberate where is Registration defined?")
      t.wait_for("◆ your deliberation: ")
      local chat = t.chat().windows.transcript
      for _, label in ipairs({ "alternative", "audit", "review" }) do
        t.wait("it comes out", function()
          local row = t.virtual("    " .. label)
          return row and not row:find("…", 1, true)
        end)
        t.stand_on(t.find("    " .. label))
        t.press("<CR>")
        t.wait("its work", function()
          return vim.fn.search("structured_output", "nw") > 0
        end)
        t.press("q")
        t.equal(vim.api.nvim_get_current_buf(), chat)
      end
      t.wait("the round comes out", function()
        return not t.virtual("◆"):find("runs", 1, true)
      end)
      t.equal(t.replayed(), t.virtual_lines())
      vim.cmd("wincmd t")
    end,
  },
  {
    "a review of the answer runs without a key",
    function()
      vim.cmd("Dsh review")
      t.wait_for_virtual("◆ your review", " · no update")
    end,
  },
  {
    "the badge says that the model is offline",
    function()
      local bar = vim.wo[vim.fn.win_findbuf(t.chat().windows.transcript)[1]].winbar
      t.equal(bar:find("offline/retrieval", 1, true) ~= nil, true, bar)
      t.equal(bar:find("DshNote# offline", 1, true) ~= nil, true, bar)
    end,
  },
  {
    "a tool's row is folded, opens with <CR>, and its match leads to the file",
    function()
      local row = t.wait_for("▸ grep")
      t.stand_on(row)
      t.equal(vim.fn.foldclosed(row), row)
      t.press("<CR>")
      t.equal(vim.fn.foldclosed(row), -1)
      t.stand_on(t.wait_for("      Line 8: pub struct Registration {"))
      t.press("<CR>")
      t.equal(vim.api.nvim_buf_get_name(0), ROOT .. "/src/lib.rs")
      t.equal(vim.api.nvim_win_get_cursor(0)[1], 8)
    end,
  },
  {
    "gf on a citation stands on its line in the other window",
    function()
      vim.cmd("1")
      t.stand_on(t.wait_for("- `src/lib.rs:8`"))
      t.press("gf")
      t.equal(vim.api.nvim_buf_get_name(0), ROOT .. "/src/lib.rs")
      t.equal(vim.api.nvim_win_get_cursor(0)[1], 8)
      t.equal(vim.api.nvim_get_current_line(), "pub struct Registration {")
    end,
  },
  {
    "text that is not saved is found, in each buffer and up to the last keystroke",
    function()
      t.begin()
      local buf = vim.api.nvim_get_current_buf()
      vim.cmd("new " .. ROOT .. "/src/second.rs")
      local second = vim.api.nvim_get_current_buf()
      t.wait("it is attached", function()
        return #vim.lsp.get_clients({ bufnr = second }) == 1
      end)
      -- The first change after a pause is not held back, so it takes a second one.
      for _, line in ipairs({ "// one", "pub fn quixotic_word() {}" }) do
        vim.api.nvim_buf_set_lines(buf, 0, 0, false, { line })
        vim.api.nvim_buf_set_lines(second, 0, 0, false, { line })
      end
      vim.cmd("Dsh ask where is quixotic_word defined?")
      t.wait_for_end()
      t.wait_for("`src/lib.rs:1`: `pub fn quixotic_word() {}`")
      t.wait_for("`src/second.rs:1`: `pub fn quixotic_word() {}`")
      vim.cmd("bwipeout!")
      vim.cmd("edit!")
    end,
  },
  {
    "a file that is opened later is heard of as well",
    function()
      vim.cmd.edit(ROOT .. "/src/other.rs")
      vim.api.nvim_buf_set_lines(0, 0, -1, false, { "pub fn laterborn() {}" })
      t.wait("it is attached", function()
        return #vim.lsp.get_clients({ bufnr = 0 }) == 1
      end)
      t.begin()
      vim.cmd("Dsh ask where is laterborn defined?")
      t.wait_for_end()
      t.wait_for("`src/other.rs:1`")
      t.equal(#vim.lsp.get_clients({ bufnr = t.chat().windows.transcript }), 0)
      t.equal(#vim.diagnostic.get(), 0)
      t.equal(vim.bo.omnifunc .. vim.bo.tagfunc .. vim.bo.formatexpr, "")
      vim.cmd("edit! " .. ROOT .. "/src/lib.rs")
    end,
  },
  {
    "a selection goes along, as it is in the buffer",
    function()
      t.begin()
      vim.cmd.edit(ROOT .. "/src/lib.rs")
      vim.cmd("4,6Dsh ask where is retry_request defined?")
      t.wait_for_end()
      t.equal(t.find("> `src/lib.rs:4-6`"), 2)
    end,
  },
  {
    "a prompt is typed into the input and sent with <CR>",
    function()
      t.begin()
      vim.cmd("Dsh chat")
      t.equal(vim.api.nvim_get_current_buf(), t.chat().windows.input)
      t.press("where is<C-j>Registration defined?<CR>")
      t.wait_for_end()
      t.equal(vim.list_slice(t.lines(), 1, 2), { "> where is", "> Registration defined?" })
      t.equal(vim.api.nvim_buf_get_lines(0, 0, -1, false), { "" })
      t.press("<Esc>")
    end,
  },
  {
    "the transcript comes back with its folds when its window is opened again",
    function()
      local row = t.wait_for("▸ read")
      vim.api.nvim_win_close(vim.fn.win_findbuf(t.chat().windows.transcript)[1], true)
      t.wait("the input is closed as well", function()
        return #vim.fn.win_findbuf(t.chat().windows.input) == 0
      end)
      vim.cmd.edit(ROOT .. "/src/lib.rs")
      vim.cmd("Dsh chat")
      t.press("<Esc>")
      t.stand_on(row)
      t.equal(vim.fn.foldclosed(row), row)
    end,
  },
  {
    "a chat that was wiped out comes back as it was",
    function()
      local before = t.lines()
      vim.cmd("stopinsert")
      vim.cmd(("bwipeout! %d %d"):format(t.chat().windows.transcript, t.chat().windows.input))
      vim.cmd("Dsh chat")
      t.equal(t.lines(), before)
      t.press("<Esc>")
      vim.cmd("bdelete! " .. t.chat().windows.transcript)
      vim.cmd("Dsh chat")
      t.equal(t.lines(), before)
      t.press("<Esc>")
    end,
  },
  {
    "an empty session is not written to disk, and the model is known before the first prompt",
    function()
      local function logs()
        return #vim.fn.glob(vim.env.DSH_LS_HOME .. "/sessions/**/*.jsonl", false, true)
      end
      local before = logs()
      t.begin()
      t.equal(t.chat().session.info, nil)
      t.equal(t.chat().session.models:asked(), "offline/retrieval")
      t.equal(logs(), before)
    end,
  },
  {
    "a model is chosen from the list",
    function()
      local offered
      vim.ui.select = function(models, options, chosen)
        offered = vim.tbl_map(options.format_item, models)
        chosen(models[#models])
      end
      vim.cmd("Dsh model")
      t.wait("the list", function()
        return offered
      end)
      t.equal(offered[#offered], "offline/retrieval (default)")
      t.equal(
        vim.tbl_contains(offered, "deepseek/deepseek-v4-pro (not ready: set DEEPSEEK_API_KEY)"),
        true
      )
      t.equal(vim.fn.getcompletion("Dsh model off", "cmdline"), { "offline/retrieval" })
    end,
  },
  {
    "a model that is not there is told in the chat",
    function()
      vim.cmd("Dsh model nobody/nothing")
      vim.cmd("Dsh ask anybody?")
      t.wait_for("✗ no session could be begun")
      t.chat().session.models.chosen = nil
    end,
  },
  {
    "a running session goes on with another model, or stays with its own",
    function()
      t.begin()
      vim.cmd("Dsh ask where is Registry?")
      t.wait_for("not by a language model")
      local id = t.chat().session.info.sessionId
      vim.cmd("Dsh model deepseek/deepseek-v4-pro")
      t.wait("the other model", function()
        return t.chat().session.info.model.model == "deepseek-v4-pro"
      end)
      t.equal(t.chat().session.info.sessionId, id)
      vim.cmd("Dsh model nobody/nothing")
      t.wait_for("✗ the model stays as it was")
      t.equal(t.chat().session.info.model.model, "deepseek-v4-pro")
      t.wait_for("> where is Registry?")
      t.chat().session.models.chosen = nil
    end,
  },
  {
    "cancel says when nothing runs",
    function()
      vim.cmd("Dsh cancel")
      t.equal(t.told, { "dsh: nothing is running" })
    end,
  },
  {
    ":Dsh completes its commands",
    function()
      t.equal(vim.fn.getcompletion("Dsh ", "cmdline"), {
        "accept",
        "ask",
        "cancel",
        "chat",
        "deliberate",
        "dismiss",
        "findings",
        "model",
        "new",
        "review",
      })
      t.equal(vim.fn.getcompletion("Dsh c", "cmdline"), { "cancel", "chat" })
      t.equal(vim.fn.getcompletion("'<,'>Dsh a", "cmdline"), { "accept", "ask" })
      vim.cmd("Dsh dance")
      t.equal(t.told[1]:find("there is no `dance`", 1, true) ~= nil, true)
    end,
  },
  {
    ":help has each command and setting",
    function()
      local place = vim.fs.dirname(ROOT) .. "/help"
      vim.fn.mkdir(place .. "/doc", "p")
      vim.uv.fs_copyfile(vim.env.DSH_PLUGIN .. "/doc/dsh.txt", place .. "/doc/dsh.txt")
      vim.cmd.helptags(place .. "/doc")
      vim.opt.runtimepath:append(place)
      for _, name in ipairs(require("dsh.commands").names) do
        vim.cmd("help :Dsh-" .. name)
        vim.cmd("helpclose")
      end
      vim.cmd("help dsh-settings")
      local text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n")
      vim.cmd("helpclose")
      for _, name in ipairs({
        "cmd",
        "model",
        "root",
        "root_markers",
        "width",
        "env",
        "virtual_text",
      }) do
        t.equal(text:find("\n" .. name .. "  ") ~= nil, true, name)
      end
    end,
  },
  {
    ":checkhealth is all well, and says what to do when the program is missing",
    function()
      local function report()
        vim.cmd("checkhealth dsh")
        local text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n")
        vim.cmd("bwipeout!")
        return text
      end
      local well = report()
      t.equal(well:find("ERROR", 1, true), nil, well)
      t.equal(well:find("OK version", 1, true) ~= nil, true, well)
      t.equal(well:find("ready: offline/retrieval", 1, true) ~= nil, true, well)
      require("dsh").setup({ cmd = { "no-such-program" }, widht = 1 })
      local ill = report()
      t.equal(ill:find("there is no setting `widht`", 1, true) ~= nil, true, ill)
      t.equal(ill:find("`no-such-program` was not found", 1, true) ~= nil, true, ill)
      t.equal(ill:find("cargo install", 1, true) ~= nil, true, ill)
    end,
  },
}
