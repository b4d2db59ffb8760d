--- A session as its events tell it: `apply` folds one event after another. Pure: no editor API.
--- Committed events add entries, which never change; chunks only make the draft.

local Inbox = require("dsh.inbox")
local Reviews = require("dsh.reviews")
local Rounds = require("dsh.rounds")
local content = require("dsh.content")

--- What an entry is.
---@alias dsh.Label
---| "replace"
---| "turn"
---| "done"
---| "step"
---| "user"
---| "notice"
---| "say"
---| "think"
---| "unsaid"
---| "interrupted"
---| "call"
---| "result"
---| "error"
---| "retry"
---| "title"
---| "model"
---| "queued"
---| "dropped"
---| "reason"
---| "round"
---| "review"
---| "evidence"
---| "inherited"

--- One thing that is shown. A mark has no label column in the transcript. What is `unsaid` was
--- being written when the server died. An entry never changes, but its round or review goes on.
---@class (exact) dsh.Entry
---@field label dsh.Label
---@field text string
---@field depth integer How deep it stands: 1 in a turn, 2 in a step.
---@field mark? boolean
---@field message? dsh.Message Of input: the whole message.
---@field call_id? string Of calls and results: the call.
---@field tool? string Of calls: the tool's name.
---@field arguments? string Of calls: the arguments as the model wrote them.
---@field value? any Of results: the typed value.
---@field ending? dsh.TurnEnd Of `done`: why the turn ended.
---@field seq? integer Of `say`: seq of the message that it is part of.
---@field round? dsh.Round Of `round`: where it stands now.
---@field review? dsh.Review Of `review`: where it stands now.
---@field checked? dsh.EvidenceChecked Of `evidence`: what was found out about an answer.

--- A block of an answer that is being written.
---@class (exact) dsh.DraftBlock
---@field kind dsh.BlockKind
---@field name? string Of a call: the tool's name.
---@field pieces string[] The text so far; only ever grows.

--- An answer that is being written: the blocks in the order of their appearance.
---@class (exact) dsh.Draft
---@field blocks dsh.DraftBlock[]
---@field by_index table<integer, dsh.DraftBlock>

---@class (exact) dsh.Model
---@field entries dsh.Entry[]
---@field draft? dsh.Draft
---@field last_seq integer Seq of the last event that was folded; −1 before the first.
---@field in_turn boolean
---@field rounds dsh.Rounds
---@field reviews dsh.Reviews
---@field private last? dsh.Event
---@field private in_step boolean
---@field private inbox dsh.Inbox
---@field private asked table<string, dsh.ContentBlock.ToolCall>
local Model = {}
Model.__index = Model

---@return dsh.Model
function Model.new()
  return setmetatable({
    entries = {},
    last_seq = -1,
    in_turn = false,
    in_step = false,
    rounds = Rounds.new(),
    reviews = Reviews.new(),
    inbox = Inbox.new(),
    asked = {},
  }, Model)
end

--- Adds an entry at the present depth.
---@param label dsh.Label
---@param text string
---@param more? table Further fields of the entry.
function Model:add(label, text, more)
  local entry = more or {}
  entry.label, entry.text = label, text
  entry.depth = (self.in_turn and 1 or 0) + (self.in_step and 1 or 0)
  self.entries[#self.entries + 1] = entry
end

---@param name string
---@param arguments string
---@param call_id string
function Model:add_call(name, arguments, call_id)
  self.asked[call_id] = nil
  local more = { tool = name, arguments = arguments, call_id = call_id }
  self:add("call", content.of_call(name, arguments), more)
end

--- Why a turn ended, in the words of the transcript.
---@param ending dsh.TurnEnd
---@return string
local function ending_text(ending)
  if ending.kind == "aborted" then
    return "aborted " .. ending.reason
  elseif ending.kind == "error" then
    return ("error %s %s"):format(ending.error.code, ending.error.message)
  elseif ending.kind == "limit" then
    return "limit " .. ending.what
  end
  return ending.kind
end

--- What each chunk does to the draft.
---@type table<string, fun(draft: dsh.Draft, chunk: table)>
local chunks = {}

chunks["block-start"] = function(draft, chunk)
  local block = { kind = chunk.block, name = chunk.name, pieces = {} }
  draft.blocks[#draft.blocks + 1] = block
  draft.by_index[chunk.index] = block
end

local function append(draft, chunk)
  local block = draft.by_index[chunk.index]
  if block then
    block.pieces[#block.pieces + 1] = chunk.text or chunk.argumentsDelta
  end
end

chunks["text-delta"] = append
chunks["reasoning-delta"] = append
chunks["tool-call-delta"] = append

--- What each event does. Types that are not here change nothing.
---@type table<string, fun(model: dsh.Model, data: any, event: dsh.Event)>
local fold = {}

fold["turn/start"] = function(model)
  model:add("turn", "turn", { mark = true })
  model.in_turn = true
  model.asked = {}
  model.inbox:forget_claimed()
end

fold["turn/end"] = function(model, data)
  if data.reason.kind == "interrupted" and model.draft then
    for _, block in ipairs(model.draft.blocks) do
      if block.kind == "text" then
        model:add("unsaid", table.concat(block.pieces))
      end
    end
  end
  model.in_turn, model.in_step, model.draft = false, false, nil
  model.rounds:lose("model")
  model.reviews:lose("auto")
  model:add("done", "done " .. ending_text(data.reason), { mark = true, ending = data.reason })
end

fold["step/start"] = function(model)
  model:add("step", "step", { mark = true })
  model.in_step, model.draft = true, nil
end

fold["step/end"] = function(model)
  model.in_step = false
end

fold["user/message"] = function(model, message)
  model.inbox:arrived(message.id)
  local label = message.source.kind == "plugin" and "notice" or "user"
  model:add(label, content.of_message(message), { message = message })
end

fold["assistant/chunk"] = function(model, data)
  model.draft = model.draft or { blocks = {}, by_index = {} }
  local change = chunks[data.chunk.type]
  if change then
    change(model.draft, data.chunk)
  end
end

fold["assistant/message"] = function(model, data, event)
  model.draft = nil
  for _, block in ipairs(data.message.content) do
    if block.type == "tool-call" then
      model.asked[block.id] = block
    else
      local is_thought = block.type == "reasoning"
      local text = is_thought and block.text or content.of_block(block)
      if content.trim_end(text) ~= "" then
        model:add(is_thought and "think" or "say", text, { seq = event.seq })
      end
    end
  end
  if data.interrupted then
    model:add("interrupted", "interrupted", { mark = true })
  end
end

fold["tool/call"] = function(model, data)
  model:add_call(data.name, data.arguments, data.callId)
end

fold["tool/result"] = function(model, data)
  for _, block in ipairs(data.message.content) do
    if block.type == "tool-result" then
      local asked = model.asked[block.toolCallId]
      if asked then
        model:add_call(asked.name, asked.arguments, asked.id)
      end
      local text = content.of_blocks(block.content)
      if block.isError and data.error then
        text = data.error.code .. " " .. text
      end
      local value = type(data.meta) == "table" and data.meta.value or nil
      local label = block.isError and "error" or "result"
      model:add(label, text, { call_id = block.toolCallId, value = value })
    end
  end
end

fold["llm/retry"] = function(model, data)
  model.draft = nil
  model:add("retry", ("%s %s"):format(data.failure.code, data.failure.message))
end

fold["session/title"] = function(model, data)
  model:add("title", data.title)
end

fold["session/model"] = function(model, data)
  model:add("model", data.provider .. "/" .. data.model)
end

fold["agent/inbox/spliced"] = function(model, data)
  local removed = model.inbox:splice(data)
  if data.outcome == "canceled" then
    for _, message in ipairs(removed) do
      model:add("dropped", content.of_message(message))
    end
  else
    model.inbox:claim(removed)
  end
  -- A prompt to an idle session is claimed at once and shown by its turn.
  if model.in_turn then
    for _, message in ipairs(data.inserted) do
      model:add("queued", content.of_message(message), { message = message })
    end
  end
end

fold["message/outcome"] = function(model, data)
  local message = model.inbox:arrived(data.messageId)
  model:add("dropped", message and content.of_message(message) or data.messageId)
  model:add("reason", ("%s: %s"):format(data.kind, data.reason))
end

fold["deliberation/started"] = function(model, data)
  model:add("round", "", { round = model.rounds:begin(data) })
end

fold["deliberation/branch"] = function(model, data)
  model.rounds:branch(data)
end

fold["deliberation/settled"] = function(model, data)
  model.rounds:settle(data)
end

fold["review/claimed"] = function(model, data, event)
  model:add("review", "", { review = model.reviews:begin(data, event.time) })
end

fold["review/child"] = function(model, data)
  model.reviews:started(data)
end

fold["review/released"] = function(model, data)
  model.reviews:release(data)
end

fold["review/settled"] = function(model, data)
  model.reviews:settle(data)
end

fold["review/item"] = function(model, data)
  model.reviews:set_item(data)
end

fold["evidence/checked"] = function(model, data)
  model:add("evidence", "", { checked = data })
end

fold["session/end-seed"] = function(model)
  model:add("inherited", "")
end

--- Chunks were left out: the draft has a gap until its message is committed.
function Model:lag()
  local blocks = self.draft and self.draft.blocks or {}
  local last = blocks[#blocks]
  if last then
    last.pieces[#last.pieces + 1] = " […] "
  end
end

--- Folds one event. Events must come in the order of their seq; what was folded before is passed
--- over. Returns false when the log is not the one that was folded: a server that was killed may
--- have lost events that it had already sent.
---@param event dsh.Event
---@return boolean
function Model:apply(event)
  if event.seq <= self.last_seq then
    local last = self.last
    return not last or event.seq < last.seq or (event.type == last.type and event.time == last.time)
  end
  self.last, self.last_seq = event, event.seq
  local surface = event.surfaceOp
  if type(surface) == "table" and surface.op == "replace" then
    self:add("replace", ("%d-%d"):format(surface.start, surface["end"]))
  end
  local change = fold[event.type]
  if change then
    change(self, event.data, event)
  end
  return true
end

return Model
