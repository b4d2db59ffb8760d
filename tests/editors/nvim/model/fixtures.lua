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

for _, module in ipairs({ "content", "inbox", "model", "transcript" }) do
  local source = read(plugin .. "/lua/dsh/" .. module .. ".lua")
  local calls = source:gsub("vim%.json%.decode", ""):match("vim%.[%w_.]+")
  check(module .. " calls no editor API", calls, nil)
end

io.write(("model: %d passed, %d failed\n"):format(passed, failed))
os.exit(failed == 0 and 0 or 1)
