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

--- What a model, or a file that it read, may put into every text of a round and of checked claims.
local NASTY = "a\nb\r\27[2J\0%#Error#" .. ("宽"):rep(1500)

--- Events with that text wherever it can stand.
---@return table[]
local function nasty_events()
  local plan = { label = NASTY, role = NASTY, history = NASTY }
  local item = {
    kind = "observation",
    certainty = "likely",
    content = NASTY,
    refs = { { path = NASTY, line = 1, quote = NASTY }, { path = NASTY } },
  }
  local packet = { role = NASTY, status = "update", items = { item } }
  local outcome = {
    label = NASTY,
    stopReason = NASTY,
    packet = packet,
    diagnostic = NASTY,
    degraded = { NASTY },
  }
  local answer = { id = "m", role = "assistant", content = { { type = "text", text = NASTY } } }
  local failures = {}
  for _, reason in ipairs({ "missing-file", "identifier-not-near", "quote-moved", NASTY }) do
    failures[#failures + 1] = { path = NASTY, line = 1, quote = NASTY, reason = reason, now = 2 }
  end
  local round = { roundId = "r", by = "user", branches = { plan } }
  return {
    { "deliberation/started", round },
    { "deliberation/branch", { roundId = "r", label = NASTY, state = "running" } },
    { "assistant/message", { turn = 1, step = 1, message = answer } },
    { "evidence/checked", { turn = 1, messageSeq = 3, checked = 4, failures = failures } },
    { "deliberation/settled", { roundId = "r", outcomes = { outcome } } },
  }
end

return {
  {
    "a round and claims of impossible texts are shown as one row each, without control characters",
    function()
      local page = require("dsh.view.page").new(ROOT, "agent " .. NASTY, function() end)
      local model = require("dsh.model").new()
      for seq, event in ipairs(nasty_events()) do
        model:apply({ type = event[1], seq = seq, time = 0, data = event[2] })
        local notice = { roundId = "r", label = NASTY, activity = NASTY, remainingMs = 1000 }
        model.rounds:heard(notice, 0)
        page.transcript:update(model)
        for _, line in ipairs(t.virtual_lines(page.buf)) do
          t.equal(line:find("[%z\1-\8\10-\31\127]"), nil, line)
        end
      end
      t.equal(#vim.diagnostic.get(page.buf), 4)
      t.equal(t.virtual_lines(page.buf)[1], "◆ your deliberation · 1 branch · 1 update")
      vim.api.nvim_buf_delete(page.buf, { force = true })
    end,
  },
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
