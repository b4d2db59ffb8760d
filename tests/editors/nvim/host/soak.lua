--- Records how late a timer of 10 ms is from the first chunk to the end of the turn.

local TICK_MS = 10

local late, began, last = {}, nil, nil
local timer = assert(vim.uv.new_timer())

local function finish(session, transcript)
  timer:stop()
  local lines = vim.api.nvim_buf_get_lines(transcript, 0, -1, false)
  local _, words = table.concat(lines, " "):gsub("word%d+", "")
  local record = {
    late = late,
    lines = #lines,
    words = words,
    seconds = (vim.uv.hrtime() - began) / 1e9,
    entries = #session.model.entries,
  }
  local file = assert(io.open(vim.env.DSH_RECORD .. ".part", "w"))
  file:write(vim.json.encode(record))
  file:close()
  vim.uv.fs_rename(vim.env.DSH_RECORD .. ".part", vim.env.DSH_RECORD)
end

timer:start(TICK_MS, TICK_MS, function()
  local now = vim.uv.hrtime()
  if began and last then
    late[#late + 1] = math.max(0, (now - last) / 1e6 - TICK_MS)
  end
  last = now
end)

local watch = assert(vim.uv.new_timer())
watch:start(
  50,
  50,
  vim.schedule_wrap(function()
    if not package.loaded["dsh.workspace"] then
      return
    end
    local chat = require("dsh.workspace").chat()
    local entries = chat.session.model.entries
    if chat.session.model.draft and not began then
      began = vim.uv.hrtime()
    elseif #entries > 0 and entries[#entries].label == "done" and watch:is_active() then
      watch:stop()
      chat:draw()
      finish(chat.session, chat.windows.transcript)
    end
  end)
)
