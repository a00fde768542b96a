-- The text of what counts.lua has counted, in Prometheus' format.
local breaks = require "resty.kubelua.breaks"
local counts = require "resty.kubelua.gateway.counts"

local series = {}

local CLASSES = { [0] = "other", "1xx", "2xx", "3xx", "4xx", "5xx" }
local OUTCOMES = {}
for outcome, kind in pairs(counts.OUTCOMES) do
    OUTCOMES[kind] = outcome
end

-- Of the families of routes and of Services: names, helps, and the label of a counter.
local ROUTE = { values = CLASSES, label = "code",
    counter = "kubelua_gateway_requests_total",
    counter_help = "Requests that have ended, by route and class of status",
    histogram = "kubelua_gateway_request_duration_seconds",
    histogram_help = "Seconds from the first byte of a request to the last one of its answer" }
local SERVICE = { values = OUTCOMES, label = "outcome",
    counter = "kubelua_gateway_upstream_requests_total",
    counter_help = "Requests that were sent to endpoints, each try, by Service and outcome",
    histogram = "kubelua_gateway_upstream_header_seconds",
    histogram_help = "Seconds until the header of an endpoint's answer was there" }

local LABELS = {
    [counts.OTHER.route] = 'kind="other",namespace="",route=""',
    [counts.OTHER.none] = 'kind="none",namespace="",route=""',
    [counts.OTHER.service] = 'namespace="",service="other",port=""',
}

-- Names of Kubernetes have no byte that would have to be escaped.
local function labels_of(name)
    if LABELS[name] then
        return LABELS[name]
    end
    local kind, namespace, route = name:match("^R (%S+) ([^/]*)/(.*)$")
    if kind then
        return ('kind="%s",namespace="%s",route="%s"'):format(kind, namespace, route)
    end
    local space, service, port = name:match("^U ([^/]*)/([^:]*):?(.*)$")
    return ('namespace="%s",service="%s",port="%s"'):format(space or "", service or name,
        port or "")
end

-- Adds a row to the table of its series: two rows may have one name.
local function add_row(list, by_name, name, row)
    local item = by_name[name]
    if not item then
        item = { labels = labels_of(name), kinds = {}, buckets = {}, sum = 0,
            family = name:sub(1, 1) == "R" and ROUTE or SERVICE }
        by_name[name], list[#list + 1] = item, item
    end
    for i = 0, 5 do
        item.kinds[i] = (item.kinds[i] or 0) + tonumber(row.kinds[i])
    end
    for i = 0, 13 do
        item.buckets[i] = (item.buckets[i] or 0) + tonumber(row.buckets[i])
    end
    item.sum = item.sum + tonumber(row.sum_ms)
end

local function read_all(pause)
    local list, by_name = {}, {}
    for i = 0, counts.limit - 1 do
        local row, name = counts.read(i)
        if row then
            add_row(list, by_name, name, row)
        end
        pause()
    end
    return list
end

local function add_head(lines, name, kind, help)
    lines[#lines + 1] = ("# HELP %s %s\n# TYPE %s %s\n"):format(name, help, name, kind)
end

local function add_counter(lines, item)
    local family = item.family
    for kind, value in pairs(family.values) do
        if item.kinds[kind] > 0 then
            lines[#lines + 1] = ('%s{%s,%s="%s"} %.0f\n'):format(family.counter, item.labels,
                family.label, value, item.kinds[kind])
        end
    end
end

local function add_histogram(lines, item, bounds)
    local name, labels, sum = item.family.histogram, item.labels, 0
    for i, bound in ipairs(bounds) do
        sum = sum + item.buckets[i - 1]
        lines[#lines + 1] = ('%s_bucket{%s,le="%g"} %.0f\n'):format(name, labels, bound, sum)
    end
    sum = sum + item.buckets[#bounds]
    lines[#lines + 1] = ('%s_bucket{%s,le="+Inf"} %.0f\n%s_sum{%s} %.3f\n%s_count{%s} %.0f\n')
        :format(name, labels, sum, name, labels, item.sum / 1000, name, labels, sum)
end

---The series of all workers. It may wait, where nginx can.
---@return string
function series.text()
    if counts.limit == 0 then
        return ""
    end
    local pause, lines, bounds = breaks.new(), {}, counts.bounds()
    local list = read_all(pause)
    for _, family in ipairs { ROUTE, SERVICE } do
        add_head(lines, family.counter, "counter", family.counter_help)
        for _, item in ipairs(list) do
            if item.family == family then
                add_counter(lines, item)
                pause()
            end
        end
        add_head(lines, family.histogram, "histogram", family.histogram_help)
        for _, item in ipairs(list) do
            if item.family == family then
                add_histogram(lines, item, bounds)
                pause()
            end
        end
    end
    add_head(lines, "kubelua_gateway_series", "gauge", "Series of routes and Services in use")
    lines[#lines + 1] = ("kubelua_gateway_series %d\n"):format(#list)
    add_head(lines, "kubelua_gateway_series_limit", "gauge", "Series that have room")
    lines[#lines + 1] = ("kubelua_gateway_series_limit %d\n"):format(counts.limit)
    add_head(lines, "kubelua_gateway_series_refused_total", "counter",
        "Series that found no room: their requests count as \"other\"")
    lines[#lines + 1] = ("kubelua_gateway_series_refused_total %.0f\n"):format(counts.full())
    return table.concat(lines)
end

return series
