-- kubelua.metric: counters, gauges and histograms of a script, for Prometheus. The values are in C
-- (lua/src/metric.c), so that a server on another thread can read them at any moment.
local core = require "kubelua.core"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"

---A counter, gauge or histogram. The values of the labels follow, in the order of their names.
---@class kubelua.Metric
---@field inc fun(self, by?: number, ...: string|number|boolean): true?, string?, string? # adds (1)
---@field dec fun(self, by?: number, ...: string|number|boolean): true?, string?, string? # a gauge
---@field set fun(self, value: number, ...: string|number|boolean): true?, string?, string? # gauge
---@field observe fun(self, value: number, ...: string|number|boolean): true?, string?, string?
---@field with fun(self, ...: string|number|boolean): kubelua.Series?, string?, string? # to keep
---@field remove fun(self, ...: string|number|boolean): boolean # takes these values out
---@field value fun(self, ...: string|number|boolean): number?, integer? # and a histogram's count

---A metric with the values of its labels given: the fastest way to count.
---@class kubelua.Series
---@field inc fun(self, by?: number): true
---@field dec fun(self, by?: number): true
---@field set fun(self, value: number): true
---@field observe fun(self, value: number): true
---@field value fun(self): number, integer

---@class kubelua.MetricOptions
---@field labels? string[] # the same as the third argument
---@field buckets? number[] upper bounds of a histogram, rising; default: 0.005 to 10
---@field limit? integer the most sets of label values; default: 1000

local TYPES = { labels = "table", buckets = "table", limit = "number" }

-- The beginnings of the names that KubeLua itself shows: docs/METRICS.md.
local OWN = { "kubelua_", "controller_runtime_", "workqueue_", "leader_election_", "rest_client_",
    "informer_", "process_" }

local metric = {}

-- The third argument is a list of labels, or options.
local function read_options(call, given)
    if given == nil then
        return {}
    elseif type(given) ~= "table" then
        misuse("%s: a list of label names expected, such as { \"shop\" }, not a %s", call,
            type(given))
    end
    if #given > 0 then
        local named = { labels = {} }
        for key, value in pairs(given) do
            local to = type(key) == "number" and named.labels or named
            to[key] = value
        end
        given = named
    end
    options.check(call, given, TYPES)
    for _, label in ipairs(given.labels or {}) do
        if type(label) ~= "string" then
            misuse("%s: the name of a label must be a string, not a %s", call, type(label))
        end
    end
    local limit = given.limit
    if limit and (limit < 1 or limit % 1 ~= 0) then
        misuse("%s: 'limit' must be an integer from 1", call)
    end
    return given
end

---Makes a metric, or finds it. Its errors are mistakes of the script, but for a lack of memory.
---@param kind "counter"|"gauge"|"histogram"
---@param call string
---@param name string
---@param help string
---@param given table checked
---@return kubelua.Metric?, string?, string?
local function make(kind, call, name, help, given)
    local made, message, code = core.metric(kind, name, help, given.labels, given.buckets,
        given.limit)
    if not made and code ~= "no_memory" then
        misuse("%s: %s", call, message)
    end
    return made, message, code
end

local function declare(kind, name, help, given)
    local call = "kubelua.metric." .. kind
    if type(name) ~= "string" or type(help) ~= "string" then
        misuse("%s: a name and a text of help expected, as in %s(\"shop_orders_total\", "
            .. "\"Orders that were taken.\", { \"shop\" })", call, call)
    end
    for _, own in ipairs(OWN) do
        if name:sub(1, #own) == own then
            misuse("%s: '%s': names with %s are KubeLua's own; choose another name", call, name,
                own)
        end
    end
    given = read_options(call, given)
    if given.buckets and kind ~= "histogram" then
        misuse("%s: only a histogram has buckets", call)
    end
    return make(kind, call, name, help, given)
end

---A counter: it only rises.
---@param name string such as "shop_orders_total"
---@param help string what it counts
---@param labels (string[]|kubelua.MetricOptions)?
---@return kubelua.Metric?, string?, string?
function metric.counter(name, help, labels)
    return declare("counter", name, help, labels)
end

---A gauge: it goes up and down.
---@param name string
---@param help string
---@param labels (string[]|kubelua.MetricOptions)?
---@return kubelua.Metric?, string?, string?
function metric.gauge(name, help, labels)
    return declare("gauge", name, help, labels)
end

---A histogram: it counts values in buckets.
---@param name string such as "shop_order_seconds"
---@param help string
---@param labels (string[]|kubelua.MetricOptions)?
---@return kubelua.Metric?, string?, string?
function metric.histogram(name, help, labels)
    return declare("histogram", name, help, labels)
end

---All metrics of this Lua state in Prometheus' text format: those of the script, and of KubeLua.
---@return string?, string?, string?
function metric.text()
    return core.metrics_text()
end

return metric
