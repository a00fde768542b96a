-- How a simulated cluster misbehaves on command. A fault is a table of what it does and of which
-- requests it is for; docs/FAULTS.md has them all. One that makes no sense raises an error.
local core = require "kubelua.core"
local simcore = require "kubelua.simcore"

---@class kubelua.Fault
---@field action string? "fail", "expire", "cut", "freeze", "delay", "event", ...
---@field how string? which sort of it
---@field verb string? "get", "list", "watch", "create", ...
---@field resource string? "pods", "deployments.apps", "pods/status"
---@field namespace string?
---@field name string?
---@field path string? what the request's target begins with
---@field client string? what is in its User-Agent
---@field page integer? which page of a list
---@field skip integer? so many requests pass first
---@field count integer? for so many requests (1); 0: for every one
---@field open boolean? whether streams that are open count (true)
---@field after_bytes integer? of the body; cut, freeze
---@field after_events integer?
---@field seconds number? how long; freeze, refuse, certificate, tls
---@field before number? seconds before the answer; delay
---@field byte number? seconds between bytes
---@field event number? seconds between events
---@field bytes integer? so many at once; the size of a huge event
---@field at integer? the event that is meant (1); event
---@field events integer? and how many from that on (1); 0: all
---@field status integer? fail
---@field retry_after number? seconds
---@field body string?
---@field content_type string?
---@field reason string?
---@field message string?

---@class kubelua.Sim
local faults = {}

local function order(self, action, rule)
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

---Orders a fault: its number, for heal.
---@param rule kubelua.Fault
---@return integer?, string?, string?
function faults:fault(rule)
    return order(self, nil, rule)
end

---The faults in force: as they were ordered, with `id` and `hits`.
---@return kubelua.Fault[]
function faults:faults()
    return core.decode(simcore.faults(self))
end

---Ends a fault, or all of them; also freeze() and refuse() if no fault is named.
---@param id integer?
---@return boolean there was such a fault
function faults:heal(id)
    if id == nil then
        simcore.freeze(self, false)
        simcore.refuse(self, false)
    end
    return simcore.heal(self, id)
end

---Breaks connections: of every open watch now, or what a rule says.
---@param rule kubelua.Fault?
---@return integer?, string?, string?
function faults:cut(rule)
    if rule then
        return order(self, "cut", rule)
    end
    simcore.cut(self)
end

-- Of freeze and refuse: `refuse(2)` is not for two seconds.
local function is_rule(call, rule)
    if type(rule) == "table" then
        return true
    elseif rule ~= nil and type(rule) ~= "boolean" then
        error(call .. ": a rule such as { seconds = 2 }, or true or false, expected, not a "
            .. type(rule), 3)
    end
    return false
end

---Keeps streams open and silent: all of them (false: no longer), or what a rule says.
---@param rule kubelua.Fault|boolean|nil
---@return integer?, string?, string?
function faults:freeze(rule)
    if is_rule("freeze", rule) then
        return order(self, "freeze", rule)
    end
    simcore.freeze(self, rule ~= false)
end

---Refuses connections: from now on (false: no longer), or for `seconds`.
---@param rule kubelua.Fault|boolean|nil
---@return integer?, string?, string?
function faults:refuse(rule)
    if is_rule("refuse", rule) then
        return order(self, "refuse", rule)
    end
    simcore.refuse(self, rule ~= false)
end

---Forgets the history, as etcd compaction does.
function faults:compact()
    simcore.compact(self)
end

---Keeps what the cluster holds now: the version, for restore.
---@return integer?, string?, string?
function faults:snapshot()
    return simcore.snapshot(self)
end

---Sets the cluster back to a snapshot, or to a version of its history, as a restored etcd would.
---@param version integer
---@return true?, string?, string?
function faults:restore(version)
    return simcore.restore(self, version)
end

-- The rest say no more than their action.
for method, action in pairs {
    fail = "fail", expire = "expire", delay = "delay", tamper = "event", withhold = "bookmarks",
    garble = "wire", certificate = "certificate", tls = "tls",
} do
    faults[method] = function(self, rule)
        return order(self, action, rule)
    end
end

return faults
