-- Makes Markdown of the measurements on a real API server (bench/run -real). Usage: real.lua
-- RESULTS.json [FILE]: prints the tables. After a complete run they also replace those in FILE
-- (bench/RESULTS.md), between two marks.
local here = arg[0]:match("^(.*)/[^/]*$") or "."
package.path = here .. "/?.lua;" .. package.path
local columns = require "columns"
local figures = require "figures"
local marks = require "marks"

local FIRST, LAST = "<!-- bench/run -real writes this -->\n", "<!-- the real server ends here -->"
local MB = 1024 * 1024

-- What the issue of this benchmark asked for, of client-go's CPU time; microseconds.
local SYNC_MOST, LONE_MOST = 0.20, 100

local function megabytes(name)
    return function(contender)
        return figures.write(contender, name, "MB", MB)
    end
end

local function preface(results)
    local machine, with = results.machine, results.settings
    return ([[
%s, commit %s, %d rounds in %.1f minutes. %s, %d cores, %.0f GB, Linux %s.

client-go %s, Go %s, Lua %s, LuaJIT %s, libcurl %s. Load average before: %.2f; meanwhile
others (the API server is one of them) had %.0f %% of the machine's CPU time, the hypervisor kept
%.0f %%.

%d pods of %d bytes of JSON; then %d changes, one every %d ms. Medians; a range stands where rounds
differ by half or more.
]]):format(results.date, results.commit, with.rounds, results.minutes, machine.cpu, machine.cores,
        machine.memory_gb, machine.kernel, results.versions["client-go"], results.versions.Go,
        results.versions.Lua, results.versions.LuaJIT, results.versions.libcurl,
        machine.load_before, machine.others * 100, machine.stolen * 100, with.pods, with.bytes,
        with.changes.count, with.changes.pause_ms)
end

local function first_list(results, there)
    return columns.markdown(there, {
        { "CPU to sync, a pod", columns.us "sync_cpu" },
        { "relative", columns.relative(results, "sync_cpu") },
        { "wall", columns.us "sync_wall" },
        { "context switches a pod", columns.plain "sync_switches" },
        { "peak of the process", megabytes "peak_all" },
        { "relative", columns.relative(results, "peak_all") },
        { "in pages: CPU", columns.us "paged_sync_cpu" },
        { "relative", columns.relative(results, "paged_sync_cpu") },
        { "context switches a pod", columns.plain "paged_sync_switches" },
        { "peak of the process", megabytes "paged_peak_all" },
    })
end

local function lone(results, there)
    return columns.markdown(there, {
        { "CPU a lone update", columns.us "lone_cpu" },
        { "relative", columns.relative(results, "lone_cpu") },
        { "context switches an update", columns.plain "lone_switches" },
        { "write to handler: p50", columns.ms "lone_p50" },
        { "relative", columns.relative(results, "lone_p50") },
        { "p99", columns.ms "lone_p99" },
        { "relative", columns.relative(results, "lone_p99") },
    })
end

local function verdict(passes)
    return passes and "yes" or "**no**"
end

local function asked(results, there)
    local lines = { "| | | asked | reached | passed |", "|---|---|---|---|---|" }
    for _, contender in ipairs(there) do
        local sync = figures.ratio(results, contender, "sync_cpu")
        if contender.name ~= figures.BASE and sync then
            local cpu = figures.median(contender, "lone_cpu")
            lines[#lines + 1] = ("| CPU to sync, of client-go's | %s | at most %.2f | %s | %s |")
                :format(contender.name, SYNC_MOST, figures.write_range(sync),
                    sync.is_wide and "open" or verdict(sync.median <= SYNC_MOST))
            lines[#lines + 1] = ("| CPU a lone update | %s | at most %d us | %s us | %s |"):format(
                contender.name, LONE_MOST, figures.number(cpu), verdict(cpu <= LONE_MOST))
        end
    end
    return table.concat(lines, "\n") .. "\n"
end

local function failures(absent)
    local lines = {}
    for _, contender in ipairs(absent) do
        lines[#lines + 1] = "\n" .. contender.name .. ": " .. contender.absent .. "\n"
    end
    return table.concat(lines)
end

local results = figures.read(arg[1])
local there, absent = figures.measured(results)
local text = table.concat({ preface(results), first_list(results, there), lone(results, there),
    asked(results, there) }, "\n") .. failures(absent)
print(text)
if results.complete and arg[2] then
    marks.write(arg[2], marks.between(arg[2], FIRST, LAST, text))
    io.stderr:write("wrote ", arg[2], "\n")
end
