-- Measures what it costs a script to read: fields of objects, and queries of an informer. Each
-- figure is the least of many rounds, in CPU time of the process; beside it, the bytes of Lua's
-- heap that one read allocates.
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"

local PODS = 10000 -- in the cache
local PAUSE = 2e-3 -- how long a round lasts, about

local function container(number)
    local env = {}
    for i = 1, 12 do
        env[i] = { name = "SETTING_" .. i,
            value = ("https://c%d.example.com/%d"):format(number, i) }
    end
    return { name = "c" .. number, image = "registry.example.com/web/c" .. number .. ":1.2.3",
        env = env, ports = { { containerPort = 8000 + number, protocol = "TCP" } },
        resources = { limits = { cpu = "500m", memory = "256Mi" } } }
end

local function pod_of(number)
    local conditions = {}
    for i, name in ipairs { "PodScheduled", "Initialized", "ContainersReady", "Ready" } do
        conditions[i] = { type = name, status = "True",
            lastTransitionTime = "2026-01-01T00:00:00Z" }
    end
    return { apiVersion = "v1", kind = "Pod",
        metadata = { name = "shop-" .. number, namespace = "ns-" .. number % 10,
            labels = { app = "shop", tier = "web", ["app.kubernetes.io/name"] = "shop",
                number = tostring(number), hundred = tostring(math.floor(number / 100)) },
            annotations = { note = ("x"):rep(200) } },
        spec = { nodeName = "node-" .. number % 500, serviceAccountName = "default",
            restartPolicy = "Always", containers = { container(1), container(2), container(3) } },
        status = { phase = "Running", podIP = "10.0.0." .. number % 250, conditions = conditions } }
end

-- One round: f, `count` times; returns seconds a call.
local function time_of(f, count)
    local since = os.clock()
    for _ = 1, count do
        f()
    end
    return (os.clock() - since) / count
end

local function least_time(f)
    local count, seconds = 1, time_of(f, 1)
    while seconds * count < PAUSE do
        count = count * 2
        seconds = time_of(f, count)
    end
    for _ = 1, 60 do
        collectgarbage()
        seconds = math.min(seconds, time_of(f, count))
    end
    return seconds
end

-- The bytes that one call allocates in Lua's heap.
local function bytes_of(f)
    f()
    collectgarbage()
    collectgarbage("stop")
    local before = collectgarbage("count")
    for _ = 1, 100 do
        f()
    end
    local after = collectgarbage("count")
    collectgarbage("restart")
    return (after - before) * 1024 / 100
end

local function measure(what, f)
    local ns = least_time(f) * 1e9
    print(("%-46s %12.0f ns %10.0f B"):format(what, ns, bytes_of(f)))
end

-- Ten reads in one round's call; the calls of both functions are measured too.
local function measure_reads(what, make)
    return function(object, kind)
        local read = make(object)
        local function ten()
            for _ = 1, 10 do
                read()
            end
        end
        local ns = least_time(ten) * 1e9 / 10
        print(("%-46s %12.1f ns %10.0f B"):format(what .. ", " .. kind, ns, bytes_of(read)))
    end
end

local reads = {
    measure_reads("pod.name", function(pod) return function() return pod.name end end),
    measure_reads("pod.metadata.name", function(pod)
        return function() return pod.metadata.name end
    end),
    measure_reads("pod.metadata.labels.app", function(pod)
        return function() return pod.metadata.labels.app end
    end),
    measure_reads("pod.status.phase", function(pod)
        return function() return pod.status.phase end
    end),
    measure_reads("pod.spec.containers[1].image", function(pod)
        return function() return pod.spec.containers[1].image end
    end),
    measure_reads("#pod.spec.containers", function(pod)
        return function() return #pod.spec.containers end
    end),
    measure_reads("labels.app (of a part that is held)", function(pod)
        local labels = pod.metadata.labels
        return function() return labels.app end
    end),
    measure_reads("kubelua.pairs(pod.metadata.labels)", function(pod)
        return function()
            local count = 0
            for _, value in kubelua.pairs(pod.metadata.labels) do
                count = count + #value
            end
            return count
        end
    end),
}

local function all_pods()
    local items = {}
    for number = 1, PODS do
        items[number] = pod_of(number)
    end
    return kubelua.json { apiVersion = "v1", kind = "List", items = items }
end

local sim = assert(Sim.new())
assert(sim:load(all_pods()))
local client = assert(sim:connect())
local pods = assert(client:informer { "pods", indexes = { node = "spec.nodeName",
    number = "metadata.labels.number", hundred = "metadata.labels.hundred" } })
assert(pods:wait_synced(600))
collectgarbage()

local key = "ns-7/shop-7"
local pod = assert(pods:get(key))
print(("%s, %d pods of %d bytes"):format((rawget(_G, "jit") or {}).version or _VERSION, PODS,
    #pod:json()))
for _, read in ipairs(reads) do
    read(pod, "open")
    read(pod:table(), "a table")
end
local get = pod.get
measure('pod:get("spec.nodeName")', function() return pod:get("spec.nodeName") end)
measure('get(pod, "spec.containers[1].image")', function()
    return get(pod, "spec.containers[1].image")
end)
pod = nil

-- One pod after the other, so that none of them is open already.
local number = 0
local function next_key()
    number = number % 1000 + 7
    return "ns-" .. number % 10 .. "/shop-" .. number
end
measure("the key of the next pod", next_key)
measure("get", function() return pods:get(next_key()) end)
measure("get, .name", function() return pods:get(next_key()).name end)
measure("get, .metadata.name", function() return pods:get(next_key()).metadata.name end)
measure("get, .status.phase", function() return pods:get(next_key()).status.phase end)
measure("get, three fields", function()
    local one = pods:get(next_key())
    return #one.metadata.name + #one.status.phase + #one.spec.nodeName
end)
measure("get, the same by one pod:get", function()
    local name, phase, node = pods:get(next_key()):get("metadata.name", "status.phase",
        "spec.nodeName")
    return #name + #phase + #node
end)
measure('by("number"): 1', function() return assert(pods:by("number", "1007")[1]) end)
measure('by("node"): 20', function() return assert(pods:by("node", "node-7")[20]) end)
measure('by("hundred"): 100', function() return assert(pods:by("hundred", "7")[100]) end)
measure('values("node"): 500', function() return assert(pods:values("node")[500]) end)
measure("list of a namespace: 1,000", function()
    return assert(pods:list({ namespace = "ns-7" })[1000])
end)
measure("list: " .. PODS, function() return assert(pods:list()[PODS]) end)
measure("list, .name of each", function()
    local sum = 0
    for _, one in ipairs(pods:list()) do
        sum = sum + #one.name
    end
    return sum
end)
measure("list, .metadata.name of each", function()
    local sum = 0
    for _, one in ipairs(pods:list()) do
        sum = sum + #one.metadata.name
    end
    return sum
end)
client:close()
sim:close()
