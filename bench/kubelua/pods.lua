-- The Lua contender of the benchmark: keeps all pods of a server in an informer and reports what
-- that cost. Usage: pods.lua SERVER UPDATES
local kubelua = require "kubelua"

local server, wanted = arg[1], tonumber(arg[2])
local updates, sum = 0, 0

-- os.clock is the CPU time of the process, all threads of it.
local function report(name, since, count)
    io.write(string.format("%s %.0f %d %d\n", name, (os.clock() - since) * 1e6, count, sum))
    io.flush()
    io.read() -- the other side measures memory
    return os.clock()
end

local function read(pod)
    sum = sum + #pod.metadata.name + #pod.status.phase + #pod.spec.nodeName
end

local since = report("ready", os.clock(), 0)
local client = assert(kubelua.connect { server = server })
local pods = assert(client:informer { "pods" })
pods:on {
    add = read,
    update = function(_, pod)
        read(pod)
        updates = updates + 1
        if updates == wanted then
            report("updated", since, updates)
            kubelua.stop()
        end
    end,
    synced = function()
        report("synced", since, pods:count())
        collectgarbage()
        collectgarbage()
        since = report("rest", os.clock(), 0)
    end,
    coalesce = false,
}
kubelua.run()
