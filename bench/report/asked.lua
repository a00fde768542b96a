-- Compares the measured figures with the bounds that KubeLua has to meet.
local figures = require "figures"

local asked = {}

-- At most, or at least, that value. `ratio`: of the base's figure; `own`: the figure itself.
local BOUNDS = {
    { "CPU to sync, of client-go protobuf's", most = 0.15, ratio = "sync_cpu" },
    { "resident KB a cached pod", most = 1.2, own = "rest_bytes", divisor = 1024 },
    { "peak over rest, streaming", most = 1.3, own = "peak", divisor = 1 },
    { "peak over rest, in pages", most = 1.3, own = "paged_peak", divisor = 1 },
    { "updates per CPU, of client-go protobuf's", ratio = "update_cpu", inverse = true,
        least = { ["KubeLua C"] = 5, ["KubeLua LuaJIT"] = 4, ["KubeLua Lua 5.4"] = 4 } },
    { "write to handler, p50, of client-go protobuf's", most = 0.7, ratio = "steady_p50" },
    { "write to handler, p99, of client-go protobuf's", most = 0.7, ratio = "steady_p99" },
    { "resident a varied object, of KubeLua C, plain", most = 0.35, ratio = "varied_bytes",
        base = "KubeLua C, plain" },
    { "GB of a process with 1,000,000 pods", most = 2, own = "million_bytes", divisor = 2 ^ 30 },
    { "CPU an event at 1,000,000 pods, of one at 1,000", most = 1.2, own = "million_ratio",
        divisor = 1 },
}

-- "yes", "no", or "open" where the rounds differ too much to say.
local function verdict(range, most, least)
    local function passes(value)
        return most and value <= most or least and value >= least
    end
    local first, last = passes(range.low), passes(range.high)
    if not range.is_wide then
        first = passes(range.median)
        last = first
    end
    if first ~= last then
        return "open"
    end
    return first and "yes" or "**no**"
end

-- What a contender has reached of a bound, or nil where that was not measured.
local function reached(results, contender, row)
    if row.ratio then
        return figures.ratio(results, contender, row.ratio, row.inverse, row.base)
    end
    return contender.figures[row.own] and figures.range(contender, row.own, row.divisor)
end

-- A row for each bound of each KubeLua contender: bound, reached, passed.
function asked.table(results, there)
    local lines = { "| | | asked | reached | passed |", "|---|---|---|---|---|" }
    for _, row in ipairs(BOUNDS) do
        local applies = not row[1]:find("1,000,000") or results.settings.many == 1000000
        for _, contender in ipairs(applies and there or {}) do
            local judged = contender.name:find("^KubeLua") and not contender.name:find("plain")
            local range = judged and reached(results, contender, row)
            if range then
                local least = row.least and row.least[contender.name]
                lines[#lines + 1] = ("| %s | %s | at %s %s | %s | %s |"):format(row[1],
                    contender.name, row.most and "most" or "least", row.most or least,
                    figures.write_range(range), verdict(range, row.most, least))
            end
        end
    end
    return table.concat(lines, "\n") .. "\n"
end

return asked
