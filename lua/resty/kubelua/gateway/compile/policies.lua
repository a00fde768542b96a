-- BackendTLSPolicies: TLS towards a Service, for one of its ports or all. The one that names the
-- port wins, then the oldest; the others are Conflicted. A policy that cannot be met makes the
-- backend invalid: nothing is sent in the clear. Pure.
local conditions = require "resty.kubelua.gateway.compile.conditions"
local precedence = require "resty.kubelua.gateway.compile.precedence"
local references = require "resty.kubelua.gateway.compile.references"

local Policies = {}
Policies.__index = Policies

local policies = {}

---@param options { authority: nil|fun(namespace: string, name: string): true|nil, string? }
function policies.new(options)
    return setmetatable({ options = options, objects = {}, targets = {}, verdicts = {},
        reads = {} }, Policies)
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
    self.objects[key], self.verdicts[key] = object, nil
    for _, target in ipairs(object and targets_of(object) or {}) do
        local list = self.targets[target.key] or {}
        self.targets[target.key] = list
        list[#list + 1] = { policy = key, section = target.ref.sectionName,
            origin = { kind = "BackendTLSPolicy", namespace = object.metadata.namespace,
                name = object.metadata.name, created = object.metadata.creationTimestamp } }
        touched[#touched + 1] = target.key
    end
    return touched
end

---Forgets what was found about a ConfigMap, which has changed.
---@param name string "ConfigMap namespace/name"
---@return string[] keys of the Services whose policies read it
function Policies:touch(name)
    local touched = {}
    for key in pairs(self.reads[name] or {}) do
        self.verdicts[key] = nil
        for _, target in ipairs(self.objects[key] and targets_of(self.objects[key]) or {}) do
            touched[#touched + 1] = target.key
        end
    end
    return touched
end

-- The authorities of a policy: "namespace/name" of ConfigMaps, or why one cannot be used.
function Policies:authorities(key, object, validation)
    local list, reason, message = {}, nil, nil
    for _, ref in ipairs(validation.caCertificateRefs or {}) do
        local namespace = object.metadata.namespace
        local name = references.key("ConfigMap", namespace, ref.name)
        self.reads[name] = self.reads[name] or {}
        self.reads[name][key] = true
        local check, valid, why = self.options.authority, true, nil
        if (ref.group or "") ~= "" or ref.kind ~= "ConfigMap" then
            reason, message = "InvalidKind", ("the authority %s is a %s: only ConfigMaps are"
                .. " read"):format(tostring(ref.name), tostring(ref.kind))
        else
            if check then
                valid, why = check(namespace, ref.name)
            end
            if valid then
                list[#list + 1] = namespace .. "/" .. ref.name
            else
                reason = "InvalidCACertificateRef"
                message = ("the ConfigMap %s/%s has no certificate in ca.crt: %s"):format(namespace,
                    ref.name, why or "it is not there")
            end
        end
    end
    return list, reason, message
end

local function names_of(validation)
    local names = {}
    for i, name in ipairs(validation.subjectAltNames or {}) do
        names[i] = name.hostname or name.uri
    end
    return #names > 0 and names or nil
end

-- What a policy says, checked once: { tls } or { refused }, and { unresolved } for its references.
function Policies:verdict(key)
    local verdict = self.verdicts[key]
    if verdict then
        return verdict
    end
    local object = self.objects[key]
    local validation = (object.spec or {}).validation or {}
    local list, reason, message = self:authorities(key, object, validation)
    verdict = { unresolved = reason and { reason = reason, message = message } }
    local system = validation.wellKnownCACertificates == "System"
    if validation.wellKnownCACertificates and not system then
        verdict.refused = { reason = "Invalid", message = "only the certificates of the system are"
            .. " well known" }
    elseif #list == 0 and not system then
        verdict.refused = { reason = "NoValidCACertificate",
            message = message or "no authority is named" }
    else
        verdict.tls = { hostname = validation.hostname, authorities = #list > 0 and list or nil,
            system = system or nil, names = names_of(validation) }
    end
    self.verdicts[key] = verdict
    return verdict
end

-- The policy for a port of a Service: the one that names it, then the oldest.
function Policies:winner(service, port)
    local best
    for _, entry in ipairs(self.targets[service] or {}) do
        local named = entry.section ~= nil and entry.section ~= ""
        if not named or entry.section == port then
            if not best or (named and not best.named)
                or (named == best.named and precedence.older(entry.origin, best.entry.origin)) then
                best = { entry = entry, named = named }
            end
        end
    end
    return best and best.entry.policy
end

---@param service string key of the Service
---@param port string name of the port
---@return table? tls { hostname, authorities, system, names }
---@return string? message why the policy cannot be met
function Policies:tls(service, port)
    local key = self:winner(service, port)
    if not key then
        return nil
    end
    local verdict = self:verdict(key)
    if verdict.refused then
        return nil, ("the %s cannot be met: %s"):format(key, verdict.refused.message)
    end
    return verdict.tls
end

-- True if an older policy names the same Service and section.
function Policies:is_conflicted(key)
    for _, target in ipairs(targets_of(self.objects[key])) do
        local section = target.ref.sectionName or ""
        local own
        for _, entry in ipairs(self.targets[target.key]) do
            own = entry.policy == key and (entry.section or "") == section and entry or own
        end
        for _, entry in ipairs(self.targets[target.key]) do
            if own and entry.policy ~= key and (entry.section or "") == section
                and precedence.older(entry.origin, own.origin) then
                return true
            end
        end
    end
    return false
end

---The conditions of a policy, the same for each Gateway that uses it.
---@param key string
---@return resty.kubelua.gateway.Condition[]
function Policies:conditions(key)
    local verdict = self:verdict(key)
    local refused, unresolved = verdict.refused, verdict.unresolved
    if self:is_conflicted(key) then
        refused = { reason = "Conflicted", message = "an older policy names the same Service" }
    end
    return {
        conditions.new("Accepted", not refused, refused and refused.reason or "Accepted",
            refused and refused.message),
        conditions.new("ResolvedRefs", not unresolved, unresolved and unresolved.reason
            or "ResolvedRefs", unresolved and unresolved.message),
    }
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
