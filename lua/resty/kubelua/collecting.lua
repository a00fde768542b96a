-- kube.collect: hands metrics in Prometheus' text format to nginx-lua-prometheus, which keeps them
-- in a shared dictionary for all workers. It has no histograms with buckets of others: of each, the
-- sum and the count are counters.
local collecting = {}

-- Of each prometheus object: its metrics by name, and what a counter was told by label text.
local kept = setmetatable({}, { __mode = "k" })

local UNESCAPED = { ["\\\\"] = "\\", ['\\"'] = '"', ["\\n"] = "\n" }

-- The names and the values of `a="x",b="y"`.
local function read_labels(text)
    local names, values, at = {}, {}, 1
    while true do
        local _, quote, name = text:find('^,?([%w_]+)="', at)
        if not quote then
            return names, values
        end
        local last = quote + 1
        while text:sub(last, last) ~= '"' do
            last = last + (text:sub(last, last) == "\\" and 2 or 1)
        end
        names[#names + 1] = name
        values[#values + 1] = text:sub(quote + 1, last - 1):gsub('\\[\\"n]', UNESCAPED)
        at = last + 1
    end
end

local function find_metric(prometheus, own, name, kind, help, names)
    if not own.metrics[name] then
        own.metrics[name] = prometheus[kind](prometheus, name, help, names)
    end
    return own.metrics[name]
end

-- A counter is told what has been added since the last call of this worker.
local function tell(own, metric, kind, line, value, values)
    if kind == "gauge" then
        metric:set(value, values)
        return
    end
    local before = own.told[line] or 0
    own.told[line] = value
    metric:inc(value >= before and value - before or value, values)
end

-- The name and the kind under which a sample is handed on; nil: it is not.
local function place_of(name, kinds)
    if name:find("^process_") or name:find("_bucket$") then
        return nil -- of one worker; or of a histogram
    elseif kinds[name] then
        return kinds[name]
    end
    local base = name:match("^(.*)_sum$") or name:match("^(.*)_count$")
    return kinds[base] == "histogram" and "counter" or nil
end

---@param prometheus table of nginx-lua-prometheus
---@param text string
function collecting.tell(prometheus, text)
    local own = kept[prometheus] or { metrics = {}, told = {} }
    kept[prometheus] = own
    local kinds, helps = {}, {}
    for line in text:gmatch("[^\n]+") do
        local name, rest = line:match("^# HELP (%S+) (.*)$")
        local typed, kind = line:match("^# TYPE (%S+) (%S+)$")
        local sample, value = line:match("^([^#].*) (%S+)$")
        if name then
            helps[name] = rest
        elseif typed then
            kinds[typed] = kind
        elseif sample then
            name = sample:match("^[^{]+")
            kind = place_of(name, kinds)
            if kind then
                local names, values = read_labels(sample:match("{(.*)}$") or "")
                local metric = find_metric(prometheus, own, name, kind, helps[name] or name, names)
                tell(own, metric, kind, sample, tonumber(value) or 0, values)
            end
        end
    end
end

return collecting
