-- Three handlers share one watch and one cache. A slow handler delays only itself. A handler that
-- is added late gets the existing objects first. If a handler fails (name a pod "broken" to see
-- it), the failure is logged, and the handler gets the next event.
-- Try it: kubelua run --sim=examples/cluster.yaml examples/many-handlers.lua
local kubelua = require "kubelua"

local client = assert(kubelua.connect())
local pods = assert(client:informer { "pods" })

local slow = pods:on {
    add = function(pod)
        kubelua.sleep(0.05) -- this registration waits, the others run on
        print("slow", pod.key)
    end,
    synced = function() print("slow has seen them all") end,
}

pods:on {
    add = function(pod)
        if pod.name == "broken" then
            error("no idea what to do with it")
        end
        print("quick", pod.key)
    end,
    synced = function() print("quick has seen them all") end,
}

assert(pods:wait_synced(10))
local late = pods:on {
    add = function(pod, initial) print("late", pod.key, initial) end,
}

kubelua.spawn(function()
    while not (slow:has_synced() and late:has_synced()) do
        kubelua.sleep(0.01)
    end
    late:remove()
    print("all handlers have synced")
    kubelua.stop()
end)
