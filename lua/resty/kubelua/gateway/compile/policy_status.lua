-- The status of a BackendTLSPolicy: an ancestor for each Gateway whose routes use its Services.
-- Pure.
local conditions = require "resty.kubelua.gateway.compile.conditions"

local policy_status = {}

local GROUP = "gateway.networking.k8s.io"
local ANCESTORS = 16 -- the CRD's limit

local function same_ancestor(a, b)
    return a.kind == b.kind and a.namespace == b.namespace and a.name == b.name
end

local function present_of(present, ref, controller)
    for _, ancestor in ipairs(present) do
        if ancestor.controllerName == controller and same_ancestor(ancestor.ancestorRef, ref) then
            return ancestor.conditions
        end
    end
end

local function gateways_of(compiler, key)
    local set, list = {}, {}
    for _, service in ipairs(compiler.policies:services(key)) do
        compiler.routes:gateways_of(service, set)
    end
    for gateway in pairs(set) do
        list[#list + 1] = gateway
    end
    table.sort(list)
    return list
end

---@param compiler table
---@param key string of the policy
---@param object table
---@return table status to write
function policy_status.make(compiler, key, object)
    local options, present = compiler.options, (object.status or {}).ancestors or {}
    local status, ancestors = {}, {}
    for field, value in pairs(object.status or {}) do
        status[field] = value
    end
    for _, ancestor in ipairs(present) do
        if ancestor.controllerName ~= options.controller then
            ancestors[#ancestors + 1] = ancestor
        end
    end
    local wanted = compiler.policies:conditions()
    for _, gateway in ipairs(gateways_of(compiler, key)) do
        local record = compiler.gateways.records[gateway]
        if record and #ancestors < ANCESTORS then
            local ref = { group = GROUP, kind = "Gateway", namespace = record.namespace,
                name = record.name }
            ancestors[#ancestors + 1] = { ancestorRef = ref, controllerName = options.controller,
                conditions = conditions.merge(present_of(present, ref, options.controller), wanted,
                    object.metadata.generation, options.now()) }
        end
    end
    if #ancestors > 0 or object.status then
        status.ancestors = options.array(ancestors)
    end
    return status
end

return policy_status
