-- A controller counts its runs here, under the names of controller-runtime. The metrics of its
-- queue are read by C when the text of the metrics is made (core/report/figures.c).
local core = require "kubelua.core"

---@class kubelua.controller.Counts
---@field results table<string, kubelua.Series>
---@field errors kubelua.Series
---@field panics kubelua.Series
---@field timeouts kubelua.Series
---@field terminal kubelua.Series
---@field seconds kubelua.Series
---@field name string
---@field life kubelua.fleet.Life?
---@field waited kubelua.Series
---@field worked kubelua.Series
local Counts = {}
Counts.__index = Counts

-- The buckets of controller-runtime.
local RECONCILE = { 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6,
    0.7, 0.8, 0.9, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5, 6, 7, 8, 9, 10, 15, 20,
    25, 30, 40, 50, 60 }

-- Those of its queues: 10 ns to 100 s in steps of ten... controller-runtime has 12 of them.
local QUEUE = { 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100, 1000 }

local ONE, WITH_RESULT, OF_QUEUE = { "controller" }, { "controller", "result" },
    { "controller", "name" }

local COUNTERS = {
    errors = { "controller_runtime_reconcile_errors_total",
        "Total number of reconciliation errors per controller" },
    terminal = { "controller_runtime_terminal_reconcile_errors_total",
        "Total number of terminal reconciliation errors per controller" },
    panics = { "controller_runtime_reconcile_panics_total",
        "Total number of reconciliation panics per controller" },
    timeouts = { "controller_runtime_reconcile_timeouts_total",
        "Total number of reconciliation timeouts per controller" },
}

-- Of an outcome's result, the name that controller-runtime has.
local RESULTS = { done = "success", after = "requeue_after", paced = "requeue", failed = "error" }

-- Raises a table { message =, code = } if memory is short.
local function series(kind, name, help, labels, buckets, ...)
    local made, message, code = core.metric(kind, name, help, labels, buckets, 10000)
    local one
    if made then
        one, message, code = made:with(...)
    end
    if not one then
        error({ message = message, code = code }, 0)
    end
    return one
end

local function make(name)
    local self = setmetatable({ results = {} }, Counts)
    for field, each in pairs(COUNTERS) do
        self[field] = series("counter", each[1], each[2], ONE, nil, name)
    end
    for result, label in pairs(RESULTS) do
        self.results[result] = series("counter", "controller_runtime_reconcile_total",
            "Total number of reconciliations per controller", WITH_RESULT, nil, name, label)
    end
    self.seconds = series("histogram", "controller_runtime_reconcile_time_seconds",
        "Length of time per reconciliation per controller", ONE, RECONCILE, name)
    self.waited = series("histogram", "workqueue_queue_duration_seconds",
        "How long in seconds an item stays in workqueue before being requested", OF_QUEUE, QUEUE,
        name, name)
    self.worked = series("histogram", "workqueue_work_duration_seconds",
        "How long in seconds processing an item from workqueue takes.", OF_QUEUE, QUEUE, name, name)
    return self
end

---The counts of a controller of that name; all controllers of one name share them.
---@param name string
---@param life kubelua.fleet.Life? of the fleet's cluster that it is for
---@return kubelua.controller.Counts?, string?, string?
function Counts.new(name, life)
    local ok, made = pcall(make, name)
    if ok then
        made.name, made.life = name, life
        return made
    elseif type(made) ~= "table" then
        error(made, 0)
    end
    return nil, made.message, made.code
end

---Counts a run that has ended.
---@param record kubelua.controller.Record
---@param result kubelua.controller.Outcome
---@param seconds number that it took
function Counts:note(record, result, seconds)
    self.results[result.result]:inc()
    if self.life then
        self.life:count(self.name, RESULTS[result.result])
    end
    self.seconds:observe(seconds)
    self.worked:observe(seconds)
    self.waited:observe(record.item.waited)
    if record.reason == "timeout" then
        self.timeouts:inc()
    end
    if result.result == "failed" then
        self.errors:inc()
        if result.is_bug then
            self.panics:inc()
        end
    elseif result.message then
        self.terminal:inc() -- it runs again after its next event only
    end
end

return Counts
