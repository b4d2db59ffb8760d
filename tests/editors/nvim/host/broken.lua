--- Programs that are missing, too old, or end at once: each is told with what to do, none is tried
--- for ever.

local t = require("runner")

--- Speaks the language server's framing just enough to refuse.
local REFUSES = [[
import json, sys
length = 0
while True:
    line = sys.stdin.buffer.readline().strip()
    if line.lower().startswith(b"content-length"):
        length = int(line.split(b":")[1])
    if not line:
        break
request = json.loads(sys.stdin.buffer.read(length))
error = {"code": -32803, "message": "speaks other versions only"}
body = json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error}).encode()
sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
sys.stdout.flush()
sys.stdin.read()
]]

---@param cmd string[]
local function use(cmd)
  require("dsh").setup({ cmd = cmd })
end

return {
  {
    "a missing program is told, with what to do",
    function()
      vim.cmd.edit(vim.env.DSH_ROOT .. "/src/lib.rs")
      use({ "no-such-program" })
      vim.cmd("Dsh ask anybody?")
      t.wait_for("✗ `no-such-program` was not found: put dsh-ls on your PATH")
      t.equal(t.chat().status, "missing")
    end,
  },
  {
    "a program that ends at once is told once and not tried again",
    function()
      use({ "false" })
      vim.cmd("Dsh new")
      t.wait_for("✗ the server ended (exit code 1): the next prompt starts it again")
      t.equal(t.chat().session.client.state, "off")
      t.equal(t.count("✗"), 1)
    end,
  },
  {
    "a program that refuses this plugin is told and stopped",
    function()
      use({ "python3", "-c", REFUSES })
      vim.cmd("Dsh new")
      t.wait_for("✗ the server does not work with this plugin")
      t.wait_for("speaks other versions only")
      t.wait("it is stopped", function()
        return t.chat().session.client.state == "off"
      end)
      vim.cmd("checkhealth dsh")
      local report = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n")
      t.equal(report:find("the program does not answer", 1, true) ~= nil, true, report)
      vim.cmd("bwipeout!")
    end,
  },
  {
    "with a program that works, the prompt that waited is answered",
    function()
      use({ vim.env.DSH_LS })
      vim.cmd("Dsh ask where is Registration defined?")
      t.wait_for("`src/lib.rs:8`")
      t.wait_for_end()
    end,
  },
}
