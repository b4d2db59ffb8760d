--- Prints what a model has folded as the plain text that every editor prints alike.
--- The grammar stands in `protocol/README.md`. Pure.

local content = require("dsh.content")

local M = {}

--- Where the text of an entry begins, counted from its label.
local TEXT_COLUMN = 8

--- What is shown and is no part of the text: it comes again in another entry, or nobody said it.
---@type table<dsh.Label, boolean>
local UNPRINTED = {
  unsaid = true,
  round = true,
  review = true,
  evidence = true,
  inherited = true,
}

--- The lines of one entry.
---@param entry dsh.Entry
---@param out string[] Where the lines are put.
local function write(entry, out)
  local indent = (" "):rep(2 * entry.depth)
  local label = entry.mark and "" or ("%-" .. TEXT_COLUMN .. "s"):format(entry.label)
  local further = indent .. (" "):rep(TEXT_COLUMN)
  for number, line in ipairs(content.lines(entry.text)) do
    local start = number == 1 and indent .. label or further
    out[#out + 1] = line == "" and start:gsub(" +$", "") or start .. line
  end
end

--- The transcript of `entries`, whole results included.
---@param entries dsh.Entry[]
---@return string
function M.print(entries)
  local out = {}
  for _, entry in ipairs(entries) do
    if not UNPRINTED[entry.label] then
      write(entry, out)
    end
  end
  out[#out + 1] = ""
  return table.concat(out, "\n")
end

return M
