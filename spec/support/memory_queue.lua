-- Calls of a workqueue, and others that only controllers use, for specs of failing allocations; see
-- memory_world.lua.
local core = require "kubelua.core"

local LIST = '{"kind":"PodList","apiVersion":"v1","metadata":{"continue":"t"},"items":['
    .. '{"metadata":{"name":"a"}},{"metadata":{"name":"b"},"spec":{"x":[1,2.5]}}]}'
local STATUS = '{"kind":"Status","reason":"NotFound","message":"none","code":404}'

local queue
local running -- the key that is in progress
local object

local memory_queue = {}

function memory_queue.open()
    queue = assert(core.queue { stands = true })
    object = assert(core.object('{"kind":"A","apiVersion":"v1","metadata":{"name":"a"}}'))
end

function memory_queue.close()
    queue, running, object = nil, nil, nil
end

---Adds these calls to a table.
---@param calls table<string, fun()>
---@param must fun(...): any raises an error that a call returned
function memory_queue.add_calls(calls, must)
    calls["core.queue"] = function() must(core.queue { delay = 1 }) end
    calls["core.list"] = function() must(core.list(LIST, "v1", "Pod")) end
    calls["core.builtin_kind"] = function() core.builtin_kind("deployments.apps") end
    calls["core.status_error"] = function() core.status_error(404, STATUS) end
    calls["core.hostname"] = function() must(core.hostname()) end
    calls["core.random"] = function() must(core.random(5)) end
    calls["core.boottime"] = function() core.boottime() end
    calls["queue.add"] = function() must(queue:add("a")) end
    calls["queue.add_related"] = function() must(queue:add_related("b", true)) end
    calls["queue.add_after"] = function() must(queue:add_after("c", 1)) end
    calls["queue.next"] = function() running = queue:next() or running end
    calls["queue.done"] = function()
        if running then
            queue:done(running, "failed")
            running = nil
        end
    end
    calls["queue.forget"] = function() queue:forget("a") end
    calls["queue.due_in"] = function() queue:due_in() end
    calls["queue.drain"] = function() must(core.queue {}):drain() end
    calls["queue.shut_down"] = function() must(core.queue {}):shut_down() end
    calls["queue.is_finished"] = function() queue:is_finished() end
    calls["queue.advance"] = function() queue:advance(1) end
    calls["queue.status"] = function() queue:status() end
    calls["core.matches"] = function() must(core.matches(object, "!b")) end
    calls["core.compare_versions"] = function() core.compare_versions("9", "10") end
end

return memory_queue
