-- kubelua run --serve: starts the server of /metrics, /healthz, /readyz and /status. The server is
-- the C module kubelua.serve (lua/serve/serve.c): it has a thread, and only this file loads it.
local core = require "kubelua.core"
local log = require "kubelua.log"
local loop = require "kubelua.loop"
local tasks = require "kubelua.tasks"

---@param address { host: string, port: string } host "": all addresses
---@return userdata? server, string? problem
return function(address)
    local loaded, serve = pcall(require, "kubelua.serve")
    if not loaded then
        return nil, "--serve: this KubeLua was built without libmicrohttpd (" .. tostring(serve)
            .. ")"
    end
    local report, message = core.report_pointer()
    local server
    if report then
        core.set_started(false)
        report, message = tasks.poller:show()
    end
    if report then
        server, message = serve.start(core.report_pointer(), address.host, address.port)
    end
    if not server then
        return nil, "--serve: " .. message
    end
    loop.begins = function() core.set_started(true) end
    log("info", "serves /metrics, /healthz, /readyz and /status on %s:%d",
        address.host == "" and "*" or address.host, server:port())
    return server
end
