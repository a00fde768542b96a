-- The calls on requests and programs, for memory_world.lua.
local core = require "kubelua.core"

local CONFIGMAPS = "/api/v1/namespaces/default/configmaps"

---Adds the calls, by name. `must` raises an error that a call returned; `world` returns the client
---and the poller that are open now.
---@param calls table<string, fun()>
---@param must fun(value: any, message: string?, code: string?): any
---@param world fun(): kubelua.Client, userdata
return function(calls, must, world)
    local function send(streams)
        local client, poller = world()
        return must(core.request_send(client, { method = "GET", target = CONFIGMAPS,
            headers = { "X-Spec", "a" }, timeout = 20, streams = streams }, poller, 3))
    end
    local function ask()
        local request = send()
        assert(core.request_wait(request, 20))
        assert(core.request_is_complete(request))
        must(core.request_result(request))
        core.request_free(request)
    end
    local function ask_briefly()
        local request = send()
        assert(core.request_wait(request, 20))
        local reply = must(core.request_result(request, true))
        assert(core.reply_has_json(reply) and reply.status == 200)
        assert(reply.headers and must(core.list(reply.body, "v1", "ConfigMap")))
        core.reply_clear(reply)
        core.request_free(request)
    end
    local function cancel()
        local request = send()
        core.request_cancel(request)
        assert(core.request_wait(request, 20))
    end
    local function read()
        local request = send(true)
        assert(core.request_wait(request, 20))
        must(core.request_result(request))
        local text, message, code
        repeat
            text, message, code = core.request_read(request)
        until not text
        must(text, message, code)
    end
    for _, name in ipairs { "send", "wait", "is_complete", "result", "free" } do
        calls["core.request_" .. name] = ask
    end
    for _, name in ipairs { "has_json", "clear" } do
        calls["core.reply_" .. name] = ask_briefly
    end
    local function run_program(ends)
        local _, poller = world()
        local process = must(core.process_start({ args = { "cat" }, input = "a",
            env = { "A=b" } }, poller, 4))
        if ends then
            core.process_cancel(process)
        end
        while not core.process_is_complete(process) do
            poller:wait(1)
            poller:next()
        end
        if not ends then
            must(core.process_result(process))
        end
        core.process_free(process)
    end
    for _, name in ipairs { "start", "is_complete", "result", "free" } do
        calls["core.process_" .. name] = run_program
    end
    calls["core.process_cancel"] = function() run_program(true) end
    calls["core.request_cancel"] = cancel
    calls["core.request_read"] = read
end
