-- The Lua contender of the benchmark: keeps all pods of a server in an informer and reports what
-- that costs. Usage: pods.lua SERVER stream|page
local core = require "kubelua.core"
local kubelua = require "kubelua"

local server, listing = arg[1], arg[2]
local wanted, times = -1, false -- of the phase: how many events, whether to time them
local events, sum, delays, since = 0, 0, {}, 0

-- os.clock is the CPU time of the process, all threads of it.
local function used()
    return (os.clock() - since) * 1e6
end

-- Prints a line and waits for one: the other side looks at this process from outside.
local function report(format, ...)
    io.write(string.format(format, ...), "\n")
    io.flush()
    return io.read()
end

-- Waits for what to do next: "updates 1000", "delays 1000", "relist 0", or nothing more.
local function follow(order)
    local name, count = (order or ""):match("^(%a+) (%d+)$")
    if not name then
        return kubelua.stop()
    end
    wanted, times = tonumber(count), name == "delays"
    events, sum, delays, since = 0, 0, {}, os.clock()
    io.write("begun\n")
    io.flush()
end

local function finish()
    follow(report("done %.0f %d %d %s", used(), events, sum, table.concat(delays, " ")))
end

local function see(pod)
    if times then
        local now = core.now()
        local written = tonumber(pod.metadata.annotations["bench.example.com/written"])
        delays[#delays + 1] = string.format("%.0f", now * 1e9 - written)
    end
    sum = sum + #pod.metadata.name + #pod.status.phase + #pod.spec.nodeName
    events = events + 1
    if events == wanted then
        finish()
    end
end

report("ready 0 0 0")
since = os.clock()
local client = assert(kubelua.connect { server = server })
local pods = assert(client:informer { "pods", streaming_list = listing == "stream" })
pods:on {
    add = see,
    update = function(_, pod)
        see(pod)
    end,
    delete = finish,
    synced = function()
        report("synced %.0f %d %d", used(), pods:count(), sum)
        collectgarbage()
        collectgarbage()
        follow(report("rest 0 0 0"))
    end,
    coalesce = false,
}
kubelua.run()
