--- `:Dsh ask QUESTION` asks without leaving the window; with a range it sends the lines along.

--- The lines as a resource of the prompt; what is not saved goes along as text.
---@param range { first: integer, last: integer }
---@return dsh.ContentBlock.Resource?
local function selection(range)
  local name = vim.api.nvim_buf_get_name(0)
  if name == "" or vim.bo.buftype ~= "" then
    return nil
  end
  local lines = vim.api.nvim_buf_get_lines(0, range.first - 1, range.last, false)
  return {
    type = "resource",
    uri = vim.uri_from_bufnr(0),
    range = { startLine = range.first, endLine = range.last },
    text = vim.bo.modified and table.concat(lines, "\n") or nil,
  }
end

---@param question string
---@param resource? dsh.ContentBlock.Resource
local function ask(question, resource)
  local chat = require("dsh.workspace").chat()
  chat.windows:open()
  chat.session:prompt({ { type = "text", text = question }, resource })
end

---@type dsh.Command
return {
  run = function(call)
    local resource = call.range and selection(call.range)
    if call.range and not resource then
      vim.notify("dsh: only lines of a file can be sent along; save it first", vim.log.levels.WARN)
      return
    end
    if call.text ~= "" then
      ask(call.text, resource)
      return
    end
    vim.ui.input({ prompt = "Ask dsh: " }, function(question)
      if question and vim.trim(question) ~= "" then
        ask(question, resource)
      end
    end)
  end,
}
