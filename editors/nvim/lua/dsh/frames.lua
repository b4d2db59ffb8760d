--- Draws, but not more often than once in a frame.

--- What is shown is brought up to date at most this often.
local FRAME_MS = 33

---@class (exact) dsh.Frames
---@field private draw fun()
---@field private timer uv.uv_timer_t
---@field private drawn_at integer
---@field private due? integer When the timer will draw.
local Frames = {}
Frames.__index = Frames

---@param draw fun()
---@return dsh.Frames
function Frames.new(draw)
  return setmetatable({ draw = draw, timer = assert(vim.uv.new_timer()), drawn_at = 0 }, Frames)
end

--- Draws now.
function Frames:now()
  self.drawn_at = vim.uv.now()
  self.draw()
end

--- Draws within a time: at once, if nothing was drawn in this frame.
---@param ms? integer
function Frames:soon(ms)
  local now = vim.uv.now()
  local due = math.max(now + (ms or 0), self.drawn_at + FRAME_MS)
  if self.due and self.due <= due then
    return
  end
  self.due = due
  local draw = vim.schedule_wrap(function()
    self.due = nil
    if not self.timer:is_closing() then
      self:now()
    end
  end)
  self.timer:start(math.max(0, due - now), 0, draw)
end

--- Draws no more.
function Frames:stop()
  if not self.timer:is_closing() then
    self.timer:close()
  end
end

return { new = Frames.new }
