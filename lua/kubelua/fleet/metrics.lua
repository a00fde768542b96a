-- The metrics of a fleet: the state of each of its clusters, and the runs of controllers there. All
-- other metrics of a controller are those of its name, over all clusters: a histogram for each of
-- 500 clusters would be 40,000 lines.
local core = require "kubelua.core"
local sorted_keys = require "kubelua.sorted_keys"

---@class kubelua.fleet.Metrics
---@field fleet string
---@field states kubelua.Metric?
---@field runs kubelua.Metric?
---@field counted table<string, table<string, table<string, true>>> the results of each controller
---of each cluster
local Metrics = {}
Metrics.__index = Metrics

-- As many clusters as a process can hold, and more.
local LIMIT = 100000

---@param fleet string its name
---@return kubelua.fleet.Metrics
function Metrics.new(fleet)
    local states = core.metric("gauge", "kubelua_fleet_cluster",
        "1 for the state of a cluster of a fleet.", { "fleet", "cluster", "state" }, nil, LIMIT)
    local runs = core.metric("counter", "kubelua_fleet_reconciles_total",
        "Reconciliations of a controller in a cluster of a fleet.",
        { "fleet", "cluster", "controller", "result" }, nil, LIMIT)
    return setmetatable({ fleet = fleet, states = states, runs = runs, counted = {} }, Metrics)
end

---A cluster goes from one state to another; nil: there is none.
---@param cluster string
---@param from string?
---@param to string?
function Metrics:move(cluster, from, to)
    if self.states and from then
        self.states:remove(self.fleet, cluster, from)
    end
    if self.states and to then
        self.states:set(1, self.fleet, cluster, to)
    end
    if not to then
        self:forget(cluster)
    end
end

---Counts a run.
---@param cluster string
---@param controller string
---@param result string as in controller_runtime_reconcile_total
function Metrics:count(cluster, controller, result)
    if not self.runs then
        return
    end
    local of_cluster = self.counted[cluster] or {}
    local results = of_cluster[controller] or {}
    self.counted[cluster], of_cluster[controller], results[result] = of_cluster, results, true
    self.runs:inc(1, self.fleet, cluster, controller, result)
end

---A cluster is gone: so are its counts.
---@param cluster string
function Metrics:forget(cluster)
    for controller, results in pairs(self.counted[cluster] or {}) do
        for _, result in ipairs(sorted_keys(results)) do
            self.runs:remove(self.fleet, cluster, controller, result)
        end
    end
    self.counted[cluster] = nil
end

return Metrics
