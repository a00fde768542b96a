-- Makes Markdown of the measurements: all tables for bench/RESULTS.md, one for README.md.
local asked = require "asked"
local columns = require "columns"
local figures = require "figures"
local parts = require "parts"

local tables = {}

local markdown, us, ms, kb = columns.markdown, columns.us, columns.ms, columns.kb
local plain, relative = columns.plain, columns.relative

local function per_second(name)
    return function(contender)
        return string.format("%.0f", 1e6 / figures.median(contender, name))
    end
end

local function sync(results, there)
    return markdown(there, {
        { "CPU to sync, a pod", us "sync_cpu" },
        { "relative", relative(results, "sync_cpu") },
        { "wall", us "sync_wall" },
        { "resident a pod", kb "rest_bytes" },
        { "peak over rest", plain "peak" },
        { "right after updates", kb "late_bytes" },
        { "5 s later", kb "later_bytes" },
        { "in pages: CPU", us "paged_sync_cpu" },
        { "in pages: peak over rest", plain "paged_peak" },
    })
end

local function update(results, there)
    local wanted = {
        { "CPU an update", us "update_cpu" },
        { "in the 5 s after it", us "later_cpu" },
        { "updates per CPU, relative", relative(results, "update_cpu", true) },
        { "updates a second", per_second "update_wall" },
    }
    for _, size in ipairs(figures.sizes(results)) do
        wanted[#wanted + 1] = { "CPU with " .. size .. " pods", us("update_cpu_" .. size) }
    end
    for _, size in ipairs(results.settings.sizes) do
        wanted[#wanted + 1] = { "resident a pod of " .. size.pods,
            kb("rest_bytes_" .. size.pods) }
    end
    return markdown(there, wanted)
end

local function delays(_, there)
    local wanted = {}
    for _, kind in ipairs { "steady", "burst" } do
        for _, rank in ipairs { "p50", "p99", "max" } do
            wanted[#wanted + 1] = { kind .. " " .. rank, ms(kind .. "_" .. rank) }
        end
    end
    return markdown(there, wanted)
end

local function relist(results)
    return markdown(figures.having(results, "relist_cpu"), {
        { "CPU an object", us "relist_cpu" },
        { "relative", relative(results, "relist_cpu") },
        { "events delivered", function(contender)
            return string.format("%.0f", figures.median(contender, "relist_events"))
        end },
    })
end

local function versions(results)
    local names, all = {}, {}
    for name in pairs(results.versions) do
        names[#names + 1] = name
    end
    table.sort(names)
    for _, name in ipairs(names) do
        all[#all + 1] = name .. " " .. results.versions[name]
    end
    return table.concat(all, ", ")
end

local function preface(results, absent)
    local machine, with = results.machine, results.settings
    local lines = {
        ("%s, commit %s, %d rounds in %.1f minutes. %s, %d cores, %.0f GB, %s, Linux %s."):format(
            results.date, results.commit, with.rounds, results.minutes, machine.cpu, machine.cores,
            machine.memory_gb, machine.system, machine.kernel),
        versions(results) .. ".",
        ("Load average before: %.2f; meanwhile others had %.0f %% of the machine's CPU time, the "
            .. "hypervisor kept %.0f %%.%s"):format(machine.load_before, machine.others * 100,
            machine.stolen * 100, (machine.others + machine.stolen) > 0.1
            and " **The machine was busy: trust CPU times and ratios, not wall times or delays.**"
            or ""),
        ("%d %s of %d bytes of JSON, %d of protobuf; %d updates (%d for client-go json and "
            .. "dynamic%s). Medians; a range of ratios stands where rounds differ by half or more."
        ):format(with.pods, with.recording and "objects" or "pods", with.json_bytes,
            with.protobuf_bytes, with.updates, with.slow_updates,
            with.few_pods and (", %d of %d pods for JavaScript and Python"):format(
                with.few_updates, with.few_pods) or ""),
    }
    if with.recording then
        table.insert(lines, 1, "The objects of " .. with.recording .. ".")
    end
    for _, note in ipairs(results.notes or {}) do
        lines[#lines + 1] = "**" .. note .. ".**"
    end
    for _, contender in ipairs(absent) do
        lines[#lines + 1] = contender.name .. ": " .. contender.absent .. "."
    end
    return table.concat(lines, "\n\n") .. "\n"
end

-- The tables of the classic part.
local function classic(results, there)
    local steady, bursts = results.settings.steady, results.settings.bursts
    return table.concat({
        "### The first list, and what stays\n", sync(results, there),
        "### Updates, and the size of the cache\n", update(results, there),
        ("### From the write to the handler\n\nSteady: %d changes, one every %d ms. Burst: %d, %d "
            .. "at once every %d ms.\n"):format(steady.count, steady.pause_ms, bursts.count,
            bursts.burst, bursts.pause_ms), delays(results, there),
        "### A list of which nothing is new, after 410 Gone\n", relist(results),
    }, "\n")
end

-- All tables, for bench/RESULTS.md: of the parts that were measured.
function tables.all(results)
    local there, absent = figures.measured(results)
    local measured = figures.having(results, "update_cpu")
    local all = {
        preface(results, absent), #measured > 0 and classic(results, measured) or nil,
    }
    for _, part in ipairs { parts.varied, parts.scale, parts.starts } do
        all[#all + 1] = part(results)
    end
    all[#all + 1] = "### Against what was asked\n"
    all[#all + 1] = asked.table(results, there)
    return table.concat(all, "\n")
end

-- The table of README.md.
function tables.short(results)
    return markdown(figures.with_all_pods(results), {
        { "CPU to sync, a pod", us "sync_cpu" },
        { "resident a pod", kb "rest_bytes" },
        { "CPU an update", us "update_cpu" },
        { "write to handler, p99", ms "steady_p99" },
    })
end

return tables
