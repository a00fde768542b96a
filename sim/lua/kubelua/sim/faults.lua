-- Faults of a simulated cluster. A fault is a table: what it does, and for which requests;
-- docs/FAULTS.md lists all. A fault that makes no sense raises an error.
local core = require "kubelua.core"
local simcore = require "kubelua.simcore"

---@class kubelua.Fault
---@field action string? "fail", "expire", "cut", "freeze", "delay", "event", ...
---@field how string? the variant of the action
---@field verb string? "get", "list", "watch", "create", ...
---@field resource string? "pods", "deployments.apps", "pods/status"
---@field namespace string?
---@field name string?
---@field path string? the target of the request begins with this
---@field client string? a part of its User-Agent
---@field page integer? which page of a list
---@field skip integer? this many requests pass first
---@field count integer? for this many requests; default: 1; 0: for all
---@field open boolean? also for streams that are open; default: true
---@field after_bytes integer? of the body, then it acts; cut, freeze
---@field after_events integer? then it acts; cut, freeze
---@field seconds number? how long; freeze, refuse, certificate, tls
---@field before number? seconds before the answer; delay
---@field byte number? seconds between bytes
---@field event number? seconds between events
---@field bytes integer? bytes at once; or the size of a huge event
---@field at integer? the first event that is changed; default: 1; event
---@field events integer? how many events from that one on; default: 1; 0: all
---@field status integer? fail
---@field retry_after number? seconds
---@field body string?
---@field content_type string?
---@field reason string?
---@field message string?

---@alias kubelua.Sim.AddFault fun(self: kubelua.Sim, rule: kubelua.Fault?): integer?, string?

---@class kubelua.Sim
---@field fail kubelua.Sim.AddFault
---@field expire kubelua.Sim.AddFault
---@field delay kubelua.Sim.AddFault
---@field tamper kubelua.Sim.AddFault
---@field withhold kubelua.Sim.AddFault
---@field garble kubelua.Sim.AddFault
---@field certificate kubelua.Sim.AddFault
---@field tls kubelua.Sim.AddFault
local faults = {}

local function add_fault(self, action, rule)
    if rule ~= nil and type(rule) ~= "table" then
        error("fault: a table expected, such as { verb = \"list\" }, not a " .. type(rule), 3)
    end
    local whole = { action = action }
    for name, value in pairs(rule or {}) do
        whole[name] = value
    end
    local id, message, code = simcore.fault(self, core.encode(whole))
    if code == "invalid_argument" then
        error(message, 3)
    end
    return id, message, code
end

---Adds a fault; returns its number, for heal.
---@param rule kubelua.Fault
---@return integer?, string?, string?
function faults:fault(rule)
    return add_fault(self, nil, rule)
end

---The active faults, as they were given, with `id` and `hits`.
---@return kubelua.Fault[]
function faults:faults()
    return core.decode(simcore.faults(self))
end

---Ends a fault, or all of them. Without a number also freeze() and refuse().
---@param id integer?
---@return boolean found true if there was such a fault
function faults:heal(id)
    if id == nil then
        simcore.freeze(self, false)
        simcore.refuse(self, false)
    end
    return simcore.heal(self, id)
end

---Breaks the connections of all open watches now; or of requests that match a rule.
---@param rule kubelua.Fault?
---@return integer?, string?, string?
function faults:cut(rule)
    if rule then
        return add_fault(self, "cut", rule)
    end
    simcore.cut(self)
end

-- True if freeze or refuse was given a rule. Raises for `refuse(2)`, which does not mean two
-- seconds.
local function is_rule(call, rule)
    if type(rule) == "table" then
        return true
    elseif rule ~= nil and type(rule) ~= "boolean" then
        error(call .. ": a rule such as { seconds = 2 }, or true or false, expected, not a "
            .. type(rule), 3)
    end
    return false
end

---Keeps streams open, but silent: all of them (false: no longer), or those that match a rule.
---@param rule kubelua.Fault|boolean|nil
---@return integer?, string?, string?
function faults:freeze(rule)
    if is_rule("freeze", rule) then
        return add_fault(self, "freeze", rule)
    end
    simcore.freeze(self, rule ~= false)
end

---Refuses connections from now on (false: no longer), or for `seconds`.
---@param rule kubelua.Fault|boolean|nil
---@return integer?, string?, string?
function faults:refuse(rule)
    if is_rule("refuse", rule) then
        return add_fault(self, "refuse", rule)
    end
    simcore.refuse(self, rule ~= false)
end

---Drops the history, as etcd's compaction does: watches from old versions then get 410 Gone.
function faults:compact()
    simcore.compact(self)
end

---Saves the state of the cluster; returns the version, for restore.
---@return integer?, string?, string?
function faults:snapshot()
    return simcore.snapshot(self)
end

---Restores a snapshot, or a version in the history, like a restored etcd.
---@param version integer
---@return true?, string?, string?
function faults:restore(version)
    return simcore.restore(self, version)
end

-- The other methods are named after their actions.
for method, action in pairs {
    fail = "fail", expire = "expire", delay = "delay", tamper = "event", withhold = "bookmarks",
    garble = "wire", certificate = "certificate", tls = "tls",
} do
    faults[method] = function(self, rule)
        return add_fault(self, action, rule)
    end
end

return faults
