-- Measures the simulated and the real API server in turns, with the same requests. Usage: main.lua
-- ROOT BUILD CLUSTER ["quick"], or main.lua ROOT --check; see `run` beside it.
local root, build, cluster, quick = arg[1], arg[2], arg[3], arg[4] == "quick"
package.path = root .. "/bench/server/?.lua;" .. package.path
local Figures = require "figures"
local machine = require "machine"
local report = require "report"
local server = require "server"

if build == "--check" then
    os.exit(report.check(root))
end

local ROUNDS = quick and 1 or 3
local STARTS = quick and 11 or 31
local ECHOES = 20000
local FIRST_PORT = 18400
local IN_FLIGHT = 8

-- How much each server has to do. The real server gets less, because its rates need less; and 1,000
-- updates to 1,000 watchers over TLS would take it most of an hour.
local SIMULATED = { writes = quick and 5000 or 20000, list = "/api/v1/pods", lists = 3,
    listed = quick and 10000 or 100000, watchers = quick and 100 or 1000,
    updates = quick and 100 or 1000 }
local REAL = { writes = quick and 200 or 1000, lists = 20, listed = 1000,
    list = "/api/v1/namespaces/default/configmaps", watchers = quick and 50 or 200,
    updates = quick and 20 or 50 }

local load = build .. "/bench/load"
local begun = os.time()

local function progress(format, ...)
    io.stderr:write(("bench: %3d s: "):format(os.time() - begun), format:format(...), "\n")
end

-- From starting the process to its first answer.
local function measure_starts(figures)
    progress("%d starts of the simulated one", STARTS)
    for i = 1, STARTS do
        local address = "127.0.0.1:" .. FIRST_PORT + i
        figures:add("start", Figures.measure(load, "http://" .. address, "", "start",
            root .. "/bin/kubelua", "sim", "--listen", address).seconds)
    end
end

-- In a separate process, without a socket.
local function measure_inside(figures)
    progress("  simulated, in the process of the client")
    local took = Figures.measure(root .. "/bin/kubelua", "run", root .. "/bench/server/inside.lua",
        SIMULATED.writes)
    figures:add("first", took.first)
    figures:add_writes("_inside", took, took.cpu)
end

-- The time of a round trip on this machine, without any work.
local function measure_echoes(figures)
    for _, where in ipairs { "together", "apart" } do
        local took = Figures.measure(load, "-", "-", "echo", ECHOES, where)
        figures:add("echo_" .. where, took.seconds / took.count)
    end
end

local function measure_round(name, it, figures, counts)
    progress("  %s: writes, one after the other, then %d in flight", name, IN_FLIGHT)
    figures:writes(it, "", counts.writes, 1)
    figures:writes(it, "_flight", counts.writes, IN_FLIGHT)
    progress("  %s: lists", name)
    figures:lists(it, counts.list, counts.lists)
    progress("  %s: %d watchers, %d updates", name, counts.watchers, counts.updates)
    figures:watches(it, counts.watchers, counts.updates)
end

-- The counts and what its start took beside the medians.
local function finish(figures, counts, more)
    local all = figures:medians()
    for _, from in ipairs { counts, more } do
        for name, value in pairs(from) do
            all[name] = value
        end
    end
    return all
end

local function measure_all()
    local ours, theirs = Figures.new(load), Figures.new(load)
    local results = { date = os.date("!%Y-%m-%d %H:%M"), machine = machine.describe(root),
        rounds = ROUNDS, in_flight = IN_FLIGHT, is_quick = quick, load = machine.load() }
    local stolen = machine.stolen()
    measure_starts(ours)
    progress("loading %d pods", SIMULATED.listed)
    local simulated = server.simulated(root, SIMULATED.listed)
    local real
    if cluster ~= "" then
        progress("starting the real one")
        real = server.real(root, cluster)
        real:fill(REAL.listed)
    end
    for round = 1, ROUNDS do
        progress("round %d of %d", round, ROUNDS)
        measure_echoes(ours)
        measure_inside(ours)
        measure_round("simulated", simulated, ours, SIMULATED)
        progress("  simulated: writes, client and server on one core")
        ours:writes_together(simulated, "_core", SIMULATED.writes)
        if real then
            measure_round("real", real, theirs, REAL)
        end
    end
    results.simulated = finish(ours, SIMULATED, { loaded = simulated.said.seconds,
        resident = simulated.said.resident, pod_bytes = simulated.said.bytes / SIMULATED.listed })
    results.real = real and finish(theirs, REAL, { start = real.started })
    results.stolen, results.seconds = machine.stolen(stolen).share, os.time() - begun
    return results
end

local ok, results = xpcall(measure_all, debug.traceback)
server.stop_all() -- in any case; `run` stops the real server
if not ok then
    io.stderr:write(results, "\n")
    os.exit(false)
end
io.write(report.table(results))
if not quick then
    report.store(root, results)
end
