--- The plugin's front door. `setup` is optional: without it the defaults hold.

local M = {}

--- Takes settings; see `:help dsh-settings`.
---@param opts? dsh.Opts
function M.setup(opts)
  local config = require("dsh.config")
  config.set(opts)
  local problems = config.problems()
  if #problems > 0 then
    local told = "dsh: " .. table.concat(problems, "; ") .. " (see :checkhealth dsh)"
    vim.notify(told, vim.log.levels.WARN)
  end
end

return M
