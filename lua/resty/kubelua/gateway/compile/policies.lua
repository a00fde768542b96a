-- BackendTLSPolicies. A policy asks the gateway to check the certificate of a Service, on one port
-- or on all. nginx checks backends only by authorities that its configuration names, not by those
-- of an object. So the gateway accepts no policy, and a backend that has one gets no request. Pure.
local conditions = require "resty.kubelua.gateway.compile.conditions"
local references = require "resty.kubelua.gateway.compile.references"

local Policies = {}
Policies.__index = Policies

local policies = {}

local WHY = "nginx cannot check a backend by an authority from an object, and sends nothing"
    .. " unchecked: requests of its Services get 500; delete the policy to send them in the clear"

function policies.new()
    return setmetatable({ objects = {}, targets = {} }, Policies)
end

local function targets_of(object)
    local keys = {}
    for _, ref in ipairs((object.spec or {}).targetRefs or {}) do
        if (ref.group or "") == "" and ref.kind == "Service" then
            keys[#keys + 1] = { ref = ref,
                key = references.key("Service", object.metadata.namespace, ref.name) }
        end
    end
    return keys
end

---@param key string "BackendTLSPolicy namespace/name"
---@param object table? nil: deleted
---@return string[] keys of the Services that it names or named
function Policies:set(key, object)
    local touched = {}
    for _, target in ipairs(self.objects[key] and targets_of(self.objects[key]) or {}) do
        local list = self.targets[target.key]
        for i = #list, 1, -1 do
            if list[i].policy == key then
                table.remove(list, i)
            end
        end
        touched[#touched + 1] = target.key
    end
    self.objects[key] = object
    for _, target in ipairs(object and targets_of(object) or {}) do
        local list = self.targets[target.key] or {}
        self.targets[target.key] = list
        list[#list + 1] = { policy = key, section = target.ref.sectionName or "" }
        touched[#touched + 1] = target.key
    end
    return touched
end

---@param service string key of the Service
---@param port string name of the port
---@return string? message why nothing is sent there; nil if no policy is for this port
function Policies:refusal(service, port)
    for _, target in ipairs(self.targets[service] or {}) do
        if target.section == "" or target.section == port then
            return ("the %s: %s"):format(target.policy, WHY)
        end
    end
end

---The conditions of a policy, the same for each Gateway that uses its Services.
---@return resty.kubelua.gateway.Condition[]
function Policies:conditions()
    return { conditions.new("Accepted", false, "Unsupported", WHY) }
end

---@param key string
---@return string[] keys of the Services that it names
function Policies:services(key)
    local keys = {}
    for i, target in ipairs(targets_of(self.objects[key])) do
        keys[i] = target.key
    end
    return keys
end

return policies
