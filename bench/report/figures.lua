-- Reads results.json, and formats figures. If figures differ too much from round to round, no ratio
-- is made: a range is shown instead.
local cjson = require "cjson"

local figures = {}

-- The first contender, to which the others are relative.
figures.BASE = "client-go protobuf"

-- The most that the highest round may be over the lowest one.
local WIDEST = 1.5

-- Reads results.json; `by_name` finds a contender.
function figures.read(path)
    local file = assert(io.open(path))
    local results = cjson.decode(file:read("a"))
    file:close()
    -- All numbers come as floats; these stand in names.
    results.settings.pods = math.floor(results.settings.pods)
    for _, size in ipairs(results.settings.sizes or {}) do
        size.pods = math.floor(size.pods)
    end
    results.by_name = {}
    for _, contender in ipairs(results.contenders) do
        results.by_name[contender.name] = contender
    end
    return results
end

-- The contenders with as many pods as most had.
function figures.with_all_pods(results)
    local all = {}
    for _, contender in ipairs(figures.measured(results)) do
        if contender.figures["update_cpu_" .. results.settings.pods] then
            all[#all + 1] = contender
        end
    end
    return all
end

-- The contenders that have a figure.
function figures.having(results, name)
    local all = {}
    for _, contender in ipairs(figures.measured(results)) do
        if contender.figures[name] then
            all[#all + 1] = contender
        end
    end
    return all
end

-- The contenders that were measured, and the others.
function figures.measured(results)
    local there, absent = {}, {}
    for _, contender in ipairs(results.contenders) do
        table.insert(contender.absent and absent or there, contender)
    end
    return there, absent
end

-- How many pods were in the cache, ascending.
function figures.sizes(results)
    local sizes = { results.settings.pods }
    for _, size in ipairs(results.settings.sizes) do
        sizes[#sizes + 1] = size.pods
    end
    table.sort(sizes)
    return sizes
end

function figures.median(contender, name)
    local figure = contender and contender.figures[name]
    return figure and figure.median
end

function figures.is_wide(contender, name)
    local figure = contender.figures[name]
    return figure.max > WIDEST * figure.min
end

-- Three digits, or as many as stand before the point.
function figures.number(value)
    if value >= 99.95 then
        return string.format("%.0f", value)
    end
    return string.format(value >= 9.995 and "%.1f" or "%.2f", value)
end

-- A median with its unit, or "-" where nothing was measured.
function figures.write(contender, name, unit, divisor)
    local value = figures.median(contender, name)
    if not value then
        return "-"
    end
    return figures.number(value / (divisor or 1)) .. (unit and " " .. unit or "")
end

-- How many times the figure of the base (default: figures.BASE) is contained in that of a
-- contender, or the other way round. Returns the lowest, the median and the highest; is_wide: the
-- median means nothing.
function figures.ratio(results, contender, name, inverse, base_name)
    local base = results.by_name[base_name or figures.BASE]
    local a, b = contender.figures[name], base and base.figures[name]
    if not a or not b or b.median == 0 or a.median == 0 then
        return nil
    end
    local range = { low = a.min / b.max, median = a.median / b.median, high = a.max / b.min }
    if inverse then
        range = { low = 1 / range.high, median = 1 / range.median, high = 1 / range.low }
    end
    range.is_wide = figures.is_wide(contender, name) or figures.is_wide(base, name)
    return range
end

-- A figure as a range.
function figures.range(contender, name, divisor)
    local figure = contender.figures[name]
    return {
        low = figure.min / divisor, median = figure.median / divisor, high = figure.max / divisor,
        is_wide = figures.is_wide(contender, name),
    }
end

-- "0.33", or "0.21..0.64" where the rounds differ too much; "-" for nil.
function figures.write_range(range)
    if not range then
        return "-"
    elseif range.is_wide then
        return string.format("%.2f..%.2f", range.low, range.high)
    end
    return string.format("%.2f", range.median)
end

return figures
