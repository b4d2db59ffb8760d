--- Folds the shared event streams as the plugin does and compares with the shared texts.
--- Run by `nvim -l`, with the plugin's folder and the folder of the streams as arguments.

local plugin, fixtures = _G.arg[1], _G.arg[2]
package.path = plugin .. "/lua/?.lua;" .. plugin .. "/lua/?/init.lua;" .. package.path

local Model = require("dsh.model")
local text = require("dsh.view.text")
local transcript = require("dsh.transcript")

local passed, failed = 0, 0

---@param name string
---@param got any
---@param wanted any
local function check(name, got, wanted)
  if vim.deep_equal(got, wanted) then
    passed = passed + 1
    return
  end
  failed = failed + 1
  io.write(("FAILED %s\n--- wanted\n%s\n--- got\n%s\n"):format(name, wanted, got))
end

---@param path string
---@return string
local function read(path)
  local file = assert(io.open(path, "rb"))
  local whole = file:read("*a")
  file:close()
  return whole
end

---@param path string
---@return dsh.Event[]
local function events_of(path)
  local events = {}
  for line in io.lines(path) do
    events[#events + 1] = vim.json.decode(line, { luanil = { object = true } })
  end
  return events
end

---@param events dsh.Event[]
---@param keep? fun(event: dsh.Event): boolean
---@return dsh.Model
local function fold(events, keep)
  local model = Model.new()
  for _, event in ipairs(events) do
    if not keep or keep(event) then
      assert(model:apply(event))
    end
  end
  return model
end

--- What the draft holds, block by block, as the committed message would have it.
---@param draft dsh.Draft
---@return string[]
local function draft_texts(draft)
  local texts = {}
  for _, block in ipairs(draft.blocks) do
    texts[#texts + 1] = block.kind .. " " .. table.concat(block.pieces)
  end
  return texts
end

---@param message dsh.Message
---@return string[]
local function message_texts(message)
  local texts = {}
  for _, block in ipairs(message.content) do
    texts[#texts + 1] = block.type .. " " .. (block.text or block.arguments)
  end
  return texts
end

local function chunks_make_the_message(name, events)
  local model = Model.new()
  for _, event in ipairs(events) do
    local sources = event.sourceEventSeqs
    if event.type == "assistant/message" and sources and #sources > 0 then
      local wanted = message_texts(event.data.message)
      check(name .. ": the draft is the message", draft_texts(model.draft), wanted)
    end
    model:apply(event)
  end
  check(name .. ": nothing is left of the draft", model.draft, nil)
end

local function without_chunks(event)
  return event.type ~= "assistant/chunk"
end

local function one_fixture(name, events, wanted)
  check(name .. ": the text", transcript.print(fold(events).entries), wanted)
  check(name .. ": without chunks", transcript.print(fold(events, without_chunks).entries), wanted)

  local odd = vim.deepcopy(events)
  for number = #odd, 1, -1 do
    table.insert(
      odd,
      number,
      { type = "weather/changed", seq = odd[number].seq, time = 0, data = 7 }
    )
  end
  -- The unknown event takes its own place in the log.
  for number, event in ipairs(odd) do
    event.seq = number - 1
  end
  check(name .. ": unknown events", transcript.print(fold(odd).entries), wanted)

  local model, shown = Model.new(), {}
  for _, event in ipairs(events) do
    local before = #model.entries
    model:apply(event)
    vim.list_extend(shown, model.entries, before + 1)
    assert(model:apply(event), "an event that comes twice is no other log")
  end
  check(name .. ": one by one, each twice", transcript.print(shown), wanted)
  chunks_make_the_message(name, events)
end

local names = 0
for file in vim.fs.dir(fixtures) do
  local name = file:match("^(.*)%.jsonl$")
  if name then
    names = names + 1
    one_fixture(name, events_of(fixtures .. "/" .. file), read(fixtures .. "/" .. name .. ".txt"))
  end
end
check("there are fixtures", names > 5, true)

local lost = Model.new()
lost:apply({ type = "turn/start", seq = 0, time = 1, data = { turn = 1 } })
local other = { type = "turn/start", seq = 0, time = 2, data = { turn = 1 } }
check("another event at the last place is another log", lost:apply(other), false)

local slow = Model.new()
local function chunk(seq, data)
  slow:apply({ type = "assistant/chunk", seq = seq, time = 1, data = { chunk = data } })
end
chunk(0, { type = "block-start", index = 0, block = "text" })
chunk(1, { type = "text-delta", index = 0, text = "one" })
slow:lag()
chunk(9, { type = "text-delta", index = 0, text = "two" })
check("a gap is seen in the draft", draft_texts(slow.draft), { "text one […] two" })

--- A session in which a round has begun.
---@param turn? integer
---@return dsh.Model
local function with_round(turn)
  local model = Model.new()
  local notice = { roundId = "r", label = "a", activity = "grep", remainingMs = 500 }
  model.rounds:heard(notice, 1000)
  local plan = { label = "a", role = "trajectory-audit", history = "fork" }
  local data = { roundId = "r", by = turn and "model" or "user", turn = turn, branches = { plan } }
  model:apply({ type = "deliberation/started", seq = 0, time = 1, data = data })
  return model
end

---@param model dsh.Model
---@return any[]
local function round_of(model)
  local round = model.entries[1].round
  local branch = round.branches[1]
  return { round.state, branch.state, branch.activity or false, branch.deadline or false }
end

local early = with_round()
local wanted = { "running", "starting", "grep", 1500 }
check("what is heard before a round begins is kept", round_of(early), wanted)
early.rounds:heard({ roundId = "r", label = "a", remainingMs = 100 }, 1100)
wanted[4] = 1200
check("time goes on, the activity stays", round_of(early), wanted)
local ended = { type = "turn/end", seq = 1, time = 2, data = { reason = { kind = "completed" } } }
early:apply(ended)
check("a turn's end is not that of a person's round", round_of(early)[1], "running")

local broken = with_round(1)
broken:apply(ended)
check("a round does not outlive its turn", { unpack(round_of(broken), 1, 2) }, { "lost", "lost" })
check("nothing is open then", broken.rounds:open(), {})
local outcome = { label = "a", stopReason = "interrupted", childSessionId = "k" }
local data = { roundId = "r", outcomes = { outcome } }
broken:apply({ type = "deliberation/settled", seq = 2, time = 3, data = data })
check("it can still come out", { unpack(round_of(broken), 1, 2) }, { "settled", "settled" })
check("and names its agent", broken.entries[1].round.branches[1].child, "k")

local reviewed = fold(events_of(fixtures .. "/review.jsonl"))

--- Where the reviews of a session stand: of each its state, and those of its items.
---@param model dsh.Model
---@return any[]
local function reviews_of(model)
  local states = {}
  for _, entry in ipairs(model.entries) do
    local review = entry.review
    if review then
      local own = { review.by, review.state }
      own[3] = review.released or review.settled and review.settled.status
      for _, item in ipairs(review.items) do
        own[#own + 1] = item.state
      end
      states[#states + 1] = own
    end
  end
  return states
end

check("reviews are folded with what became of their items", reviews_of(reviewed), {
  { "auto", "released", "projection-over-budget" },
  { "auto", "settled", "update", "accepted" },
  { "user", "settled", "failed" },
})
check("and none runs", reviewed.reviews:are_running(), false)

--- A session in which a review has begun.
---@param by dsh.ReviewBy
---@return dsh.Model
---@return fun(kind: string, payload: table) tell Folds one more event about it.
local function with_review(by)
  local model = Model.new()
  local function tell(kind, payload)
    payload.reviewId = payload.reviewId or "v"
    assert(model:apply({ type = kind, seq = model.last_seq + 1, time = 70, data = payload }))
  end
  tell("review/claimed", { turn = 1, by = by, draftSeq = 9 })
  return model, tell
end

local item = { kind = "unknown", certainty = "likely", content = "c" }
local found = { turn = 1, status = "update", published = true, items = { item, item } }

local kept, tell_kept = with_review("auto")
local review = kept.entries[1].review
check("a review knows when it began", { review.began, review.draft_seq, review.state }, {
  70,
  9,
  "running",
})
check("and runs", kept.reviews:are_running(), true)
tell_kept("review/settled", found)
tell_kept("review/item", { index = 1, state = "dismissed" })
tell_kept("review/item", { index = 7, state = "dismissed" })
tell_kept("review/settled", vim.tbl_extend("force", found, { reason = "notice-step-failed" }))
check("a second settlement leaves the items as they stand", reviews_of(kept), {
  { "auto", "settled", "update", "open", "dismissed" },
})
check("and says why", review.settled.reason, "notice-step-failed")

local left, tell_left = with_review("auto")
tell_left("turn/end", { reason = { kind = "aborted", reason = "user" } })
check("an automatic review does not outlive its turn", reviews_of(left), { { "auto", "lost" } })
check("nothing runs then", left.reviews:are_running(), false)
tell_left("review/settled", { turn = 1, status = "no_update", published = false })
check("what was adopted comes out all the same", reviews_of(left), {
  { "auto", "settled", "no_update" },
})

local own, tell_own = with_review("user")
tell_own("turn/end", { reason = { kind = "completed" } })
check("a turn's end is not that of a person's review", reviews_of(own), { { "user", "running" } })
own.reviews:lose()
check("the server's end is", reviews_of(own), { { "user", "lost" } })

local late, tell_late = with_review("user")
for kind, told in pairs({ child = {}, released = {}, settled = found, item = { index = 0 } }) do
  tell_late("review/" .. kind, vim.tbl_extend("force", told, { reviewId = "other" }))
end
check("a review whose claim was not seen is passed over", reviews_of(late), {
  { "user", "running" },
})

local behind = Model.new()
for number, kind in ipairs({ "branch", "settled" }) do
  local part = { roundId = "r", label = "a", state = "running", outcomes = {} }
  local event = { type = "deliberation/" .. kind, seq = number, time = 1, data = part }
  check("a round whose start was not seen is passed over", behind:apply(event), true)
end
check("and shows nothing", behind.entries, {})

--- The lines that a text makes when it comes in pieces of a size.
---@param whole string
---@param size integer
---@return string[]
local function lines_by_pieces(whole, size)
  local pieces, lines = text.new(), {}
  for start = 1, #whole, size do
    vim.list_extend(lines, pieces:feed(whole:sub(start, start + size - 1)))
  end
  lines[#lines + 1] = pieces:unfinished()
  return lines
end

local hard = ("a\r\nb\rc\n\n%s\n%s\ttab\0nul"):format(("宽"):rep(3000), ("x"):rep(2000))
for _, size in ipairs({ 1, 7, 1999, 2001, 100000 }) do
  check("lines by pieces of " .. size, lines_by_pieces(hard, size), text.lines(hard))
end
check("no piece of a character", text.lines(("宽"):rep(700))[1], ("宽"):rep(666))

for _, module in ipairs({ "content", "inbox", "model", "reviews", "rounds", "transcript", "typed" }) do
  local source = read(plugin .. "/lua/dsh/" .. module .. ".lua")
  local calls = source:gsub("vim%.json%.decode", ""):match("vim%.[%w_.]+")
  check(module .. " calls no editor API", calls, nil)
end

io.write(("model: %d passed, %d failed\n"):format(passed, failed))
os.exit(failed == 0 and 0 or 1)
