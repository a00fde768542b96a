-- The Lua contender of the benchmark: keeps all objects of one kind, or of some, in informers and
-- reports what that costs. Usage: pods.lua SERVER stream|page packed|plain RESOURCE...
-- SERVER: a URL, or the path of a kubeconfig. packed: the cache is compressed.
local core = require "kubelua.core"
local kubelua = require "kubelua"

local server, listing, cache = arg[1], arg[2], arg[3]
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

local function count_event(object, read, now)
    if now then
        local written = tonumber(object.metadata.annotations["bench.example.com/written"])
        delays[#delays + 1] = string.format("%.0f", now * 1e9 - written)
    end
    sum = sum + read
    events = events + 1
    if events == wanted then
        finish()
    end
end

local function see_pod(pod)
    local now = times and core.now()
    local name, phase, node = pod:get("metadata.name", "status.phase", "spec.nodeName")
    count_event(pod, #name + #(phase or "") + #(node or ""), now)
end

local function see_other(object)
    local now = times and core.now()
    count_event(object, #object.metadata.name + #object.metadata.uid, now)
end

report("ready 0 0 0")
since = os.clock()
local client = assert(kubelua.connect { [server:find("^/") and "kubeconfig" or "server"] = server })
local informers, syncing = {}, #arg - 3

local function synced()
    syncing = syncing - 1
    if syncing > 0 then
        return
    end
    local held = 0
    for _, informer in ipairs(informers) do
        held = held + informer:count()
    end
    report("synced %.0f %d %d", used(), held, sum)
    collectgarbage()
    collectgarbage()
    follow(report("rest 0 0 0"))
end

for i = 4, #arg do
    local see = arg[i] == "pods" and see_pod or see_other
    local informer = assert(client:informer { arg[i], streaming_list = listing == "stream",
        compress = cache == "packed" })
    informers[#informers + 1] = informer
    informer:on {
        add = see,
        update = function(_, object)
            see(object)
        end,
        delete = finish,
        synced = synced,
        coalesce = false,
    }
end
kubelua.run()
