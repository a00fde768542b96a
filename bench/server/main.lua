-- Lets the simulated and the real API server do the same, and tells how long they took.
-- Usage: main.lua ROOT BUILD CLUSTER ["quick"]; see run beside it.
local json = require "cjson"

local root, build, cluster, quick = arg[1], arg[2], arg[3], arg[4] == "quick"
package.path = root .. "/bench/server/?.lua;" .. package.path
local server = require "server"
local report = require "report"

local ROUNDS = quick and 1 or 3
local load = build .. "/bench/load"

-- What a command prints, as JSON.
local function measure(...)
    local words = {}
    for i, word in ipairs { ... } do
        words[i] = "'" .. tostring(word) .. "'"
    end
    local pipe = assert(io.popen(table.concat(words, " ")))
    local text = pipe:read("a")
    assert(pipe:close(), "failed: " .. table.concat(words, " "))
    return json.decode(text)
end

local function median(values)
    table.sort(values)
    return values[(#values + 1) // 2]
end

-- The median of what `fn` returns, over the rounds.
local function rounds(fn)
    local values = {}
    for i = 1, ROUNDS do
        values[i] = fn()
    end
    return median(values)
end

-- All figures of one server. `counts`: how much it is asked for.
local function figures_of(it, counts)
    local figures = { writes = counts.writes, watchers = counts.watchers,
        updates = counts.updates, listed = counts.listed }
    local rates = { create = {}, update = {}, delete = {} }
    for _ = 1, ROUNDS do
        local took = measure(load, it.url, it.token, "write", counts.writes)
        for what, values in pairs(rates) do
            values[#values + 1] = took.count / took[what]
        end
    end
    for what, values in pairs(rates) do
        figures[what] = median(values)
    end
    figures.list = rounds(function()
        local took = measure(load, it.url, it.token, "list", counts.list, counts.lists)
        return took.bytes / took.seconds / 1e6
    end)
    local cpu = {}
    figures.watch = rounds(function()
        local before = it:cpu()
        local took = measure(load, it.url, it.token, "watch", counts.watchers, counts.updates)
        local events = took.watchers * took.updates
        cpu[#cpu + 1] = (it:cpu() - before) / events * 1e6
        return events / took.seconds
    end)
    figures.watch_cpu = median(cpu)
    return figures
end

local function measure_simulated()
    local pods = quick and 10000 or 100000
    local it = server.simulated(root, pods)
    local figures = figures_of(it, { writes = quick and 5000 or 20000, list = "/api/v1/pods",
        lists = 3, listed = pods, watchers = quick and 100 or 1000,
        updates = quick and 100 or 1000 })
    figures.first = it.said.first
    figures.loaded = it.said.seconds
    figures.resident = it.resident / pods
    figures.pod_bytes = it.said.bytes / pods
    it:stop()
    local starts = {}
    for i = 1, 11 do
        local address = "127.0.0.1:" .. 18400 + i
        starts[i] = measure(load, "http://" .. address, "", "start", root .. "/bin/kubelua",
            "sim", "--listen", address).seconds
    end
    figures.start = median(starts)
    return figures
end

local function measure_real()
    local it = server.real(root, cluster)
    local figures = figures_of(it, { writes = quick and 200 or 1000,
        list = "/api/v1/namespaces/default/configmaps", lists = 20, listed = it:fill(),
        watchers = quick and 100 or 1000, updates = quick and 10 or 100 })
    figures.start = it.started
    return figures
end

local results = { date = os.date("!%Y-%m-%d"), machine = server.machine(),
    simulated = measure_simulated() }
if cluster ~= "" then
    results.real = measure_real()
end
io.write(report.table(results))
if not quick then
    report.store(root, results)
end
