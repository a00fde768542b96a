-- A slow exec credential plugin: status() says what is awaited.
local kubelua = require "kubelua"

local KUBECONFIG = [[
apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users:
- name: u
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: sleep
      args: ["1000"]
      interactiveMode: Never
]]

describe("an informer that waits for an exec plugin", function()
    it("names it, and for how long it has been running", function()
        local path = os.tmpname()
        local file = assert(io.open(path, "w"))
        file:write(KUBECONFIG)
        file:close()
        local client = assert(kubelua.connect { kubeconfig = path })
        local pods = assert(client:informer { "pods" })
        local message, code
        repeat
            local _
            _, message, code = pods:wait_synced(0.05)
            assert.equal("timeout", code)
        until message:find("plugin", 1, true)
        assert.matches("it waits for the exec credential plugin %S*sleep, "
            .. "which has been running for %d+%.%d s", message)
        local status = pods:status()
        assert.matches("sleep$", status.plugin)
        assert.is_true(status.plugin_running >= 0)
        client:close()
        os.remove(path)
    end)
end)
