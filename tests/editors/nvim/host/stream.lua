--- With a model that answers slowly: streaming, cancel, and a server that dies.

local t = require("runner")

--- The words of a drip that are shown, in their order.
---@return integer[]
local function shown_words()
  local numbers = {}
  for number in table.concat(t.lines(), " "):gmatch("word(%d+)") do
    numbers[#numbers + 1] = tonumber(number)
  end
  return numbers
end

---@param numbers integer[]
---@return boolean
local function is_counting(numbers)
  for place, number in ipairs(numbers) do
    if number ~= place - 1 then
      return false
    end
  end
  return true
end

return {
  {
    "an answer is shown while it is written, and committed without a trace of the draft",
    function()
      vim.cmd.edit(vim.env.DSH_ROOT .. "/src/lib.rs")
      vim.cmd("Dsh ask drip 300 300")
      t.wait_for("word20")
      t.equal(t.chat().session.model.draft ~= nil, true)
      t.wait_for_end()
      local words = shown_words()
      t.equal(#words, 300)
      t.equal(is_counting(words), true)
      t.equal(t.chat().session.model.draft, nil)
    end,
  },
  {
    "a cursor on the last line follows, another one stays",
    function()
      t.begin()
      local win = vim.fn.win_findbuf(t.chat().windows.transcript)[1]
      vim.cmd("Dsh ask drip 240 300")
      t.wait_for("word30")
      local count = vim.api.nvim_buf_line_count(t.chat().windows.transcript)
      t.equal(vim.api.nvim_win_get_cursor(win)[1], count)
      vim.api.nvim_win_set_cursor(win, { 2, 0 })
      t.wait_for_end()
      t.equal(vim.api.nvim_win_get_cursor(win)[1], 2)
    end,
  },
  {
    "cancel stops an answer in the middle and keeps what was written",
    function()
      t.begin()
      vim.cmd("Dsh ask drip 100000 100")
      t.wait_for("word10")
      t.equal(t.chat().status, "running")
      vim.cmd("Dsh cancel")
      t.wait_for_end()
      t.wait_for("✗ cancelled")
      t.equal(#shown_words() > 10, true)
      t.equal(is_counting(shown_words()), true)
    end,
  },
  {
    "a prompt during an answer waits and is answered after it",
    function()
      t.begin()
      vim.cmd("Dsh ask drip 60 60")
      t.wait_for("word5")
      vim.cmd("Dsh ask and then?")
      t.wait_for("> and then?  (waits)")
      t.wait_for("You said: and then?")
      t.wait_for_end(2)
      t.equal(is_counting(shown_words()), true)
    end,
  },
  {
    "what the model thinks is one row, while it is written and afterwards",
    function()
      t.begin()
      vim.cmd("Dsh ask think")
      t.wait_for("… thinks")
      t.wait_for_end()
      local shown = { "> think", "", "▸ thought · 2 lines" }
      vim.list_extend(shown, { "    First this,", "    then that.", "", "So be it." })
      t.equal(t.lines(), shown)
      t.equal(vim.fn.bufwinid(t.chat().windows.transcript) ~= -1, true)
      t.stand_on(4)
      t.equal(vim.fn.foldclosed(4), 3)
      vim.cmd("wincmd p")
    end,
  },
  {
    "a request that is made again is told",
    function()
      t.begin()
      vim.cmd("Dsh ask busy " .. vim.uv.hrtime())
      t.wait_for("… asked again after")
      t.wait_for("You said: busy")
      t.wait_for_end()
    end,
  },
  {
    "an answer that breaks off is kept and said to have failed",
    function()
      t.begin()
      vim.cmd("Dsh ask cut")
      t.wait_for("✗ failed: STREAM_CLOSED")
      t.wait_for_end()
      t.equal(t.find("This is all there"), 3)
    end,
  },
  {
    "a very long line is broken and comes whole",
    function()
      t.begin()
      vim.cmd("Dsh ask long")
      t.wait_for_end()
      local length, longest = 0, 0
      for _, line in ipairs(t.lines()) do
        length = length + (line:match("^x+$") and #line or 0)
        longest = math.max(longest, #line)
      end
      t.equal(length, 100000)
      t.equal(longest <= 2000, true)
    end,
  },
  {
    "a server that is killed in mid-turn is told, started again and gone on with",
    function()
      t.begin()
      local old = t.server_pid()
      vim.cmd("Dsh ask drip 100000 100")
      t.wait_for("word40")
      local id = t.chat().session.info.sessionId
      vim.uv.kill(old, "sigkill")
      t.wait_for("✗ the server ended (signal 9): it is started again")
      t.wait_for("✗ interrupted")
      t.wait_for_end()
      t.equal(t.chat().session.info.sessionId, id)
      t.equal(t.server_pid() ~= old, true)
      t.equal(t.count("> drip 100000 100"), 1)
      t.equal(is_counting(shown_words()), true)
      vim.cmd("Dsh ask are you there?")
      t.wait_for("You said: are you there?")
      t.wait_for_end(2)
      t.equal(t.count("> are you there?"), 1)
    end,
  },
  {
    "what is shown after a death is what the log holds",
    function()
      local transcript = require("dsh.transcript")
      local fresh = require("dsh.model").new()
      local all
      local params = { sessionId = t.chat().session.info.sessionId, limit = 5000 }
      t.chat().session.client:request("session/events", params, function(_, result)
        all = result.events
      end)
      t.wait("the log", function()
        return all
      end)
      for _, event in ipairs(all) do
        fresh:apply(event)
      end
      local folded = t.chat().session.model
      t.equal(transcript.print(folded.entries), transcript.print(fresh.entries))
      t.equal(folded.last_seq, fresh.last_seq)
    end,
  },
  {
    "a prompt that is typed while the server is dead brings it back",
    function()
      t.begin()
      vim.uv.kill(t.server_pid(), "sigkill")
      vim.cmd("Dsh ask anybody?")
      t.wait_for("You said: anybody?")
      t.wait_for_end()
      t.equal(t.count("> anybody?"), 1)
    end,
  },
  {
    "a server that keeps dying is not started for ever",
    function()
      t.begin()
      for _ = 1, 6 do
        if t.chat().session.client.state ~= "ready" then
          break
        end
        local pid = t.server_pid()
        local deaths = t.count("✗ the server ended")
        vim.uv.kill(pid, "sigkill")
        t.wait("its death is told", function()
          return t.count("✗ the server ended") > deaths
        end)
        t.wait("it is ready or stays off", function()
          return t.chat().session.client.state ~= "starting"
        end)
      end
      t.wait_for("the next prompt starts it again")
      t.equal(t.chat().status, "ended")
      vim.cmd("Dsh ask once more")
      t.wait_for("You said: once more")
      t.wait_for_end()
    end,
  },
}
