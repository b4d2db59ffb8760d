--- A transcript on the screen: a buffer that cannot be changed, its keys, and where its lines lead.

local Buffer = require("dsh.view.buffer")
local citation = require("dsh.view.citation")
local content = require("dsh.content")
local scratch = require("dsh.view.scratch")

local api = vim.api

for group, link in pairs({
  DshUser = "Title",
  DshTool = "Comment",
  DshError = "DiagnosticError",
  DshGood = "DiagnosticOk",
  DshNote = "DiagnosticWarn",
}) do
  api.nvim_set_hl(0, group, { link = link, default = true })
end

--- What leads to an agent's work.
local LEADS_TO_AGENT = { branch = true, call = true, review = true }

---@class (exact) dsh.view.Page
---@field buf integer
---@field transcript dsh.view.Buffer
---@field bar string What the line above says.
---@field private root string
---@field private follow fun(target: dsh.view.Target)
local Page = {}
Page.__index = Page

---@param root string
---@param name string
---@param follow fun(target: dsh.view.Target) Shows another agent's work.
---@return dsh.view.Page
function Page.new(root, name, follow)
  local buf = scratch.new(root, name, "markdown")
  vim.bo[buf].modifiable = false
  vim.bo[buf].undolevels = -1
  local self = setmetatable({
    buf = buf,
    transcript = Buffer.new(buf, root),
    bar = "",
    root = root,
    follow = follow,
  }, Page)
  for _, keys in ipairs({ "gf", "<CR>" }) do
    scratch.map(buf, "n", keys, "open what the line leads to", function()
      self:jump(keys == "<CR>")
    end)
  end
  api.nvim_create_autocmd("BufWinEnter", {
    buffer = buf,
    callback = function()
      self:dress(api.nvim_get_current_win())
    end,
  })
  return self
end

--- Prepares a window that has come to show the page.
---@param win integer
function Page:dress(win)
  scratch.set(win, {
    breakindent = true,
    fillchars = "fold: ,eob: ",
    foldenable = true,
    foldlevel = 0,
    foldmethod = "manual",
    foldtext = "",
    linebreak = true,
    list = false,
    number = false,
    relativenumber = false,
    -- Always there, so that a sign that comes moves nothing.
    signcolumn = "yes:1",
    spell = false,
    winbar = self.bar,
    wrap = true,
  })
  self.transcript:fold_all(win)
end

--- Shows words above the page.
---@param bar string
function Page:show_bar(bar)
  self.bar = bar
  for _, win in ipairs(vim.fn.win_findbuf(self.buf)) do
    scratch.set(win, { winbar = bar })
  end
end

--- Where the cursor's line leads: to where a citation stands now, or as it is written.
---@param row integer From 1.
---@param column integer From 0.
---@return dsh.view.Citation?
function Page:place(row, column)
  local match = citation.of_match(self.buf, row)
  if match then
    return match
  end
  local cited = citation.at(api.nvim_get_current_line(), column)
  return self.transcript.evidence:place(row - 1, column, cited) or cited
end

--- Opens what stands under the cursor: an agent's work, a citation, or a fold.
---@param opens_agents boolean
function Page:jump(opens_agents)
  local row, column = unpack(api.nvim_win_get_cursor(0))
  local target = self.transcript.targets:at(row - 1)
  if target and LEADS_TO_AGENT[target.kind] and opens_agents then
    self.follow(target)
    return
  end
  if vim.fn.foldclosed(row) ~= -1 then
    vim.cmd("normal! zo")
    return
  end
  local place = target and target.ref or self:place(row, column)
  if place then
    local refusal = citation.open(self.root, { path = place.path, line = place.line })
    if refusal then
      vim.notify("dsh: " .. content.printable(refusal), vim.log.levels.WARN)
    end
  elseif vim.fn.foldlevel(row) > 0 then
    vim.cmd("normal! zc")
  else
    vim.notify("dsh: no citation such as path:line on this line", vim.log.levels.WARN)
  end
end

--- Shows the page in a window in place of what it shows.
---@param win integer
function Page:enter(win)
  scratch.show(win, self.buf)
end

return Page
