-- Makes Markdown of what is measured besides the classic part: varied objects, very many pods, and
-- the start of processes. A part that was not measured is nil.
local columns = require "columns"
local figures = require "figures"

local parts = {}

local markdown, us, kb, plain = columns.markdown, columns.us, columns.kb, columns.plain
local relative = columns.relative

-- What a cluster with varied objects has, and what keeping them costs.
function parts.varied(results)
    local there = figures.having(results, "varied_bytes")
    if #there == 0 then
        return nil
    end
    local lines = {
        "### Objects that differ as those of real clusters do\n",
        "One process keeps five kinds; sizes of one object, in bytes of JSON (and of protobuf):\n",
        "| | objects | with managedFields | without |", "|---|---|---|---|",
    }
    for _, kind in ipairs(results.settings.varied_kinds) do
        lines[#lines + 1] = ("| %s | %d | %d (%s) | %d |"):format(kind.kind, kind.count,
            kind.json_bytes, kind.protobuf_bytes > 0 and ("%d"):format(kind.protobuf_bytes) or "-",
            kind.bare_bytes)
    end
    local function of_plain(contender)
        return figures.write_range(figures.ratio(results, contender, "varied_bytes", false,
            "KubeLua C, plain"))
    end
    return table.concat(lines, "\n") .. "\n\n" .. markdown(there, {
        { "resident an object", kb "varied_bytes" },
        { "of KubeLua C, plain", of_plain },
        { "peak over rest", plain "varied_peak" },
        { "CPU to sync, an object", us "varied_sync_cpu" },
        { "relative", relative(results, "varied_sync_cpu") },
        { "without managedFields: resident", kb "bare_bytes" },
        { "CPU", us "bare_sync_cpu" },
        { "relative", relative(results, "bare_sync_cpu") },
    })
end

local function gigabytes(name)
    return function(contender)
        return figures.write(contender, name, "GB", 2 ^ 30)
    end
end

-- Very many pods, and client-go with the most that it was given.
function parts.scale(results)
    local there, with = figures.having(results, "million_bytes"), results.settings
    if #there == 0 then
        return nil
    end
    local base, sizes = results.by_name[figures.BASE], figures.sizes(results)
    local bytes = figures.median(base, "rest_bytes_" .. sizes[#sizes])
    local beside = bytes and ("\n%s with %d pods: %s GB more than without any.\n"):format(
        figures.BASE, sizes[#sizes], figures.number(bytes * sizes[#sizes] / 2 ^ 30)) or ""
    return ("### %d pods\n\n%d changes, which jump from pod to pod; one round.\n\n"):format(
        with.many, with.many_updates) .. markdown(there, {
        { "synced in", function(contender)
            return figures.write(contender, "million_seconds", "s")
        end },
        { "CPU to sync, a pod", us "million_sync_cpu" },
        { "memory of the process", gigabytes "million_bytes" },
        { "peak over rest", plain "million_peak" },
        { "CPU an event", us "million_update_cpu" },
        { "of 1,000 pods", us "thousand_update_cpu" },
        { "relative", plain "million_ratio" },
    }) .. beside
end

-- How long processes take to their first event.
function parts.starts(results)
    if #(results.starts or {}) == 0 then
        return nil
    end
    local there, notes = {}, {}
    for _, program in ipairs(results.starts) do
        if program.absent then
            notes[#notes + 1] = program.name .. ": " .. program.absent .. ".\n"
        else
            there[#there + 1] = program
        end
    end
    local function of(rank)
        return function(program)
            return figures.number(program.figures.first_ms[rank]) .. " ms"
        end
    end
    return ("### From the start of a process to its first event\n\n%d pods, %d starts each.\n\n")
        :format(results.settings.start_pods, results.settings.starts) .. markdown(there, {
        { "median", of "median" }, { "least", of "min" }, { "most", of "max" },
    }) .. (#notes > 0 and "\n" or "") .. table.concat(notes, "\n")
end

return parts
