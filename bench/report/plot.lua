-- Draws the figures as SVG: small bar charts for five of them, and lines for the size of the cache.
-- The picture has its own background, and colours for a light and a dark page.
local figures = require "figures"

local plot = {}

local WIDTH, HEIGHT = 300, 200 -- of a panel; one with many bars is higher
local LABEL, BAR = 112, 120 -- where bars begin, how long the longest is
local CHART = { left = 40, right = 190, top = 44, bottom = 172 }

local STYLE = [[
.page { fill: #ffffff } .text { fill: #24292f } .faint { fill: #57606a }
.axis { stroke: #8c959f; stroke-width: 1 }
.client { fill: #5b7fb5; stroke: #5b7fb5 } .rust { fill: #c2703d; stroke: #c2703d }
.kubelua { fill: #2f8f5b; stroke: #2f8f5b }
.line { fill: none; stroke-width: 2 }
text { font: 11px "DejaVu Sans", Verdana, sans-serif }
text.client, text.rust, text.kubelua { stroke: none }
.title { font-weight: bold }
@media (prefers-color-scheme: dark) {
.page { fill: #0d1117 } .text { fill: #c9d1d9 } .faint { fill: #8b949e }
.client { fill: #79a3e0; stroke: #79a3e0 } .rust { fill: #e08c55; stroke: #e08c55 }
.kubelua { fill: #4cc38a; stroke: #4cc38a }
}
]]

local function class_of(name)
    return name:find("^KubeLua") and "kubelua" or name:find("^kube") and "rust" or "client"
end

local function text(x, y, class, content, anchor)
    return ('<text x="%.1f" y="%.1f" class="%s" text-anchor="%s">%s</text>'):format(x, y, class,
        anchor or "start", content)
end

-- A bar each contender; `value_of` returns what it shows, or nil.
local function bars(contenders, title, unit, value_of)
    local out, most = { text(4, 18, "text title", title), text(4, 33, "faint", unit) }, 0
    for _, contender in ipairs(contenders) do
        most = math.max(most, value_of(contender) or 0)
    end
    for i, contender in ipairs(contenders) do
        local value, y = value_of(contender), 42 + (i - 1) * 21
        out[#out + 1] = text(LABEL - 6, y + 12, "text", contender.name, "end")
        if value then
            local length = math.max(1, value / most * BAR)
            out[#out + 1] = ('<rect x="%d" y="%d" width="%.1f" height="15" class="%s"/>'):format(
                LABEL, y, length, class_of(contender.name))
            out[#out + 1] = text(LABEL + length + 5, y + 12, "text", figures.number(value))
        end
    end
    return table.concat(out, "\n")
end

-- The contenders that have a figure for each size, with their values; and the highest of these.
local function series_of(contenders, sizes)
    local all, most = {}, 0
    for _, contender in ipairs(contenders) do
        local values = {}
        for _, size in ipairs(sizes) do
            values[#values + 1] = figures.median(contender, "update_cpu_" .. size)
        end
        if #values == #sizes then
            all[#all + 1] = { name = contender.name, values = values }
            for _, value in ipairs(values) do
                most = math.max(most, value)
            end
        end
    end
    return all, most
end

-- Moves labels apart that would lie on each other.
local function spread(series)
    table.sort(series, function(a, b)
        return a.label < b.label
    end)
    for i = 2, #series do
        series[i].label = math.max(series[i].label, series[i - 1].label + 13)
    end
    local over = #series > 0 and series[#series].label - CHART.bottom or 0
    for i = #series, 1, -1 do
        local limit = i < #series and series[i + 1].label - 13 or CHART.bottom
        series[i].label = over > 0 and math.min(series[i].label, limit) or series[i].label
    end
end

local function lines(results, contenders, title, unit)
    local sizes = figures.sizes(results)
    local series, most = series_of(contenders, sizes)
    local out = { text(4, 18, "text title", title), text(4, 33, "faint", unit) }
    local function x_of(i)
        return CHART.left + (i - 1) / math.max(1, #sizes - 1) * (CHART.right - CHART.left)
    end
    local function y_of(value)
        return CHART.bottom - value / math.max(most, 1) * (CHART.bottom - CHART.top)
    end
    out[#out + 1] = ('<path d="M%d %dV%dH%d" class="axis" fill="none"/>'):format(CHART.left,
        CHART.top, CHART.bottom, CHART.right)
    out[#out + 1] = text(CHART.left - 4, CHART.top + 4, "faint", figures.number(most), "end")
    out[#out + 1] = text(CHART.left - 4, CHART.bottom + 4, "faint", "0", "end")
    for i, size in ipairs(sizes) do
        out[#out + 1] = text(x_of(i), CHART.bottom + 16, "faint", ("%d"):format(size), "middle")
    end
    for _, one in ipairs(series) do
        local points = {}
        for i, value in ipairs(one.values) do
            points[i] = ("%.1f,%.1f"):format(x_of(i), y_of(value))
        end
        one.label = y_of(one.values[#one.values]) + 4
        out[#out + 1] = ('<g class="%s"><polyline points="%s" class="line"/></g>'):format(
            class_of(one.name), table.concat(points, " "))
    end
    spread(series)
    for _, one in ipairs(series) do
        out[#out + 1] = text(CHART.right + 5, one.label, class_of(one.name), one.name)
    end
    return table.concat(out, "\n")
end

local function median_of(name, divisor)
    return function(contender)
        local value = figures.median(contender, name)
        return value and value / divisor
    end
end

-- The whole picture.
function plot.svg(results)
    local there, pods = figures.with_all_pods(results), results.settings.pods
    local height = math.max(HEIGHT, 42 + 21 * #there + 4)
    local panels = {
        bars(there, "CPU to sync", ("us a pod, %d pods"):format(pods), median_of("sync_cpu", 1)),
        bars(there, "Resident memory", "KB a cached pod", median_of("rest_bytes", 1024)),
        bars(there, "Updates handled", "thousands per second of CPU", function(contender)
            local value = figures.median(contender, "update_cpu")
            return value and 1000 / value
        end),
        bars(there, "From write to handler, p99", "ms, one change at a time",
            median_of("steady_p99", 1000)),
        lines(results, there, "CPU an update, by cache size", "us; pods in the cache"),
        bars(there, "Relist of what is unchanged", "us of CPU an object",
            median_of("relist_cpu", 1)),
    }
    local out = {
        ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d">')
            :format(3 * WIDTH, 2 * height, 3 * WIDTH, 2 * height),
        "<title>KubeLua, client-go and kube-rs over the same pods</title>",
        "<style>" .. STYLE .. "</style>",
        '<rect class="page" width="100%" height="100%"/>',
    }
    for i, panel in ipairs(panels) do
        out[#out + 1] = ('<g transform="translate(%d %d)">'):format((i - 1) % 3 * WIDTH,
            (i - 1) // 3 * height)
        out[#out + 1] = panel .. "\n</g>"
    end
    return table.concat(out, "\n") .. "\n</svg>\n"
end

return plot
