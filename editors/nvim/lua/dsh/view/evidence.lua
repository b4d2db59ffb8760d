--- The claims of answers that do not hold: shown at the citation in the transcript, and given to
--- `vim.diagnostic`, so that signs, `]d` and the quickfix list have them.

local content = require("dsh.content")

local api = vim.api
local anchors = api.nvim_create_namespace("dsh.flaws")
local namespace = api.nvim_create_namespace("dsh.evidence")

-- What is wrong is shown at the citation: what stands behind a line is cut in a narrow window.
vim.diagnostic.config({ virtual_text = false, virtual_lines = false }, namespace)

--- A claim that does not hold, and where it is made.
---@class (exact) dsh.view.Flaw
---@field failure dsh.EvidenceFailure
---@field mark integer The extmark of the citation.

---@class (exact) dsh.view.Evidence
---@field private buf integer
---@field private answers dsh.view.Answers
---@field private flaws dsh.view.Flaw[]
local Evidence = {}
Evidence.__index = Evidence

---@param buf integer
---@param answers dsh.view.Answers
---@return dsh.view.Evidence
function Evidence.new(buf, answers)
  api.nvim_buf_clear_namespace(buf, anchors, 0, -1)
  vim.diagnostic.reset(namespace, buf)
  api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  return setmetatable({ buf = buf, answers = answers, flaws = {} }, Evidence)
end

---@type table<dsh.EvidenceReason, fun(failure: dsh.EvidenceFailure): string>
local reasons = {
  ["missing-file"] = function()
    return "there is no such file"
  end,
  ["line-out-of-range"] = function(failure)
    return ("the file has no line %d"):format(failure.line or 0)
  end,
  ["quote-not-found"] = function()
    return "what is quoted is nowhere in the file"
  end,
  ["quote-moved"] = function(failure)
    return ("what is quoted is on line %d"):format(failure.now or 0)
  end,
  ["identifier-not-near"] = function(failure)
    local place = failure.now and (", but on line %d"):format(failure.now) or ""
    return ("`%s` is not near%s"):format(failure.quote or "", place)
  end,
}

--- What is wrong, in a few words.
---@param failure dsh.EvidenceFailure
---@return string
local function words(failure)
  local reason = reasons[failure.reason]
  return content.printable(reason and reason(failure) or failure.reason)
end

--- Where a line cites a place: answers write them in several ways.
---@param line string
---@param failure dsh.EvidenceFailure
---@return integer? first From 1.
---@return integer? last
local function find(line, failure)
  local name = failure.path:match("[^/]*$")
  local number = failure.line and tostring(failure.line)
  for _, path in ipairs({ failure.path, name }) do
    local first, last = 0, 0
    while first do
      first, last = line:find(path, last + 1, true)
      if first and not number then
        return first, last
      elseif first then
        local _, stop = line:find("^%D*" .. number .. "%f[%D]", last + 1)
        if stop and stop - last < 20 then
          return first, stop
        end
      end
    end
  end
end

--- The place in an answer where a claim is made; the start of the answer when it is not found.
---@param lines { row: integer, text: string }[]
---@param failure dsh.EvidenceFailure
---@param from integer Which line the claim before it was found in: they come in their order.
---@return integer place Which line.
---@return integer first From 1.
---@return integer last
local function locate(lines, failure, from)
  for step = 0, #lines - 1 do
    local place = (from - 1 + step) % #lines + 1
    local first, last = find(lines[place].text, failure)
    if first then
      return place, first, last
    end
  end
  return 1, 1, #lines[1].text
end

--- Shows what does not hold of an answer; nothing when all does.
---@param checked dsh.EvidenceChecked
function Evidence:show(checked)
  local lines = self.answers:lines_of(checked.messageSeq)
  if #lines == 0 then
    return
  end
  local from = 1
  for _, failure in ipairs(checked.failures) do
    local place, first, last = locate(lines, failure, from)
    from = place
    local row = lines[place].row
    local mark = api.nvim_buf_set_extmark(self.buf, anchors, row, first - 1, {
      end_row = row,
      end_col = last,
    })
    -- The text stands behind the citation and what closes it.
    local after = last + #(lines[place].text:match("^[`)%]]*", last + 1))
    api.nvim_buf_set_extmark(self.buf, anchors, row, after, {
      virt_text = { { " ⚠ " .. words(failure), "DshNote" } },
      virt_text_pos = "inline",
      right_gravity = false,
    })
    self.flaws[#self.flaws + 1] = { failure = failure, mark = mark }
  end
  self:refresh()
end

--- Tells `vim.diagnostic` where the claims stand now: it does not follow when lines come above.
function Evidence:refresh()
  if #self.flaws == 0 then
    return
  end
  local all = {}
  for number, flaw in ipairs(self.flaws) do
    local failure = flaw.failure
    local options = { details = true }
    local at = api.nvim_buf_get_extmark_by_id(self.buf, anchors, flaw.mark, options)
    local cited = failure.line and ("%s:%d"):format(failure.path, failure.line) or failure.path
    local quote = failure.quote and failure.reason:find("^quote") and (": " .. failure.quote) or ""
    all[number] = {
      lnum = at[1],
      col = at[2],
      end_lnum = at[3].end_row,
      end_col = at[3].end_col,
      severity = vim.diagnostic.severity.WARN,
      source = "dsh",
      code = failure.reason,
      message = content.printable(("%s: %s%s"):format(cited, words(failure), quote)),
    }
  end
  vim.diagnostic.set(namespace, self.buf, all)
end

--- Where the cursor's citation leads when it does not hold: to where the quote stands now.
---@param row integer From 0.
---@param column integer From 0, in bytes.
---@param cited? dsh.view.Citation
---@return dsh.view.Citation?
function Evidence:place(row, column, cited)
  local best
  for _, flaw in ipairs(self.flaws) do
    local options = { details = true }
    local at = api.nvim_buf_get_extmark_by_id(self.buf, anchors, flaw.mark, options)
    local failure = flaw.failure
    local is_under = at[1] == row and column >= at[2] and column < at[3].end_col
    local is_cited = at[1] == row and cited and cited.line == failure.line
    if (is_under or is_cited) and (not best or (failure.now and not best.now)) then
      best = failure
    end
  end
  return best and { path = best.path, line = best.now or best.line }
end

return Evidence
