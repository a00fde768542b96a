-- The Gateways of this controller: addresses, listeners, and what keeps one from being accepted. A
-- change of any of them looks at all (Gateways times listeners; there are few): addresses and ports
-- are shared. Routes are attached anew only where the listeners' signature changed. Pure.
local addresses = require "resty.kubelua.gateway.compile.addresses"
local listeners = require "resty.kubelua.gateway.compile.listeners"
local precedence = require "resty.kubelua.gateway.compile.precedence"
local references = require "resty.kubelua.gateway.compile.references"
local signature = require "resty.kubelua.gateway.compile.signature"

local Gateways = {}
Gateways.__index = Gateways

local gateways = {}

---@class resty.kubelua.gateway.GatewayRecord
---@field key string "Gateway namespace/name"
---@field object table
---@field namespace string
---@field listeners resty.kubelua.gateway.Listener[] each with `entries`, the keys where it is bound
---@field assigned resty.kubelua.gateway.Assigned
---@field refused resty.kubelua.gateway.Failure? Accepted is False
---@field shows_certificate boolean? it asks for a client certificate towards backends
---@field signature string

---@param options table
function gateways.new(options)
    return setmetatable({ options = options, objects = {}, records = {}, reads = {}, kept = {},
        dirty = false }, Gateways)
end

---@param key string
---@param object table? nil: deleted
function Gateways:set(key, object)
    self.objects[key] = object
end

local function key_of(object)
    return references.key("Gateway", object.metadata.namespace, object.metadata.name)
end

local function origin_of(object)
    local metadata = object.metadata
    return { kind = "Gateway", namespace = metadata.namespace, name = metadata.name,
        created = metadata.creationTimestamp }
end

-- The objects whose class is one of ours, the oldest first.
function Gateways:ours(is_ours)
    local list = {}
    for _, object in pairs(self.objects) do
        if is_ours((object.spec or {}).gatewayClassName) then
            list[#list + 1] = object
        end
    end
    table.sort(list, function(a, b)
        return precedence.older(origin_of(a), origin_of(b))
    end)
    return list
end

local function refusal_of(object, assigned, list)
    local infrastructure = (object.spec or {}).infrastructure or {}
    if infrastructure.parametersRef then
        return { reason = "InvalidParameters",
            message = "a Gateway of this controller has no parameters" }
    elseif assigned.unsupported then
        return { reason = "UnsupportedAddress", message = assigned.unsupported }
    end
    for _, listener in ipairs(list) do
        if not listener.refused then
            return nil
        end
    end
    return { reason = "ListenersNotValid", message = "no listener can be served" }
end

local function entry_key(address, port)
    if address:find(":", 1, true) then
        address = "[" .. address .. "]"
    end
    return ("%s:%d"):format(address, port)
end

-- A port's listeners are one value of the map, which workers read as a whole: names on one port,
-- and those of one namespace.
local MOST_NAMES, MOST_OF_NAMESPACE = 4096, 1024

-- Why one more name has no place on a port; nil: it has, and is counted.
local function find_room(bound, namespace, name)
    local of = bound.of_namespace[namespace] or 0
    if bound.names[name] then
        return nil
    elseif bound.count >= MOST_NAMES then
        return ("all %d hostnames of the port are taken"):format(MOST_NAMES)
    elseif of >= MOST_OF_NAMESPACE then
        return ("the namespace has %d hostnames on the port, which is the limit"):format(of)
    end
    bound.names[name], bound.count = true, bound.count + 1
    bound.of_namespace[namespace] = of + 1
end

-- Where a listener is bound. On an address that Gateways share, a port speaks what the oldest says.
local function bind(record, listener, ports)
    local keys = {}
    for _, address in ipairs(record.assigned.own and record.assigned.list or { "*" }) do
        keys[#keys + 1] = entry_key(address, listener.port)
    end
    for _, key in ipairs(keys) do
        local bound = ports[key]
        if bound and bound.protocol ~= listener.protocol then
            listener.refused = { reason = "PortUnavailable", message = ("an older Gateway speaks"
                .. " %s on %s"):format(bound.protocol, key) }
            return {}
        end
    end
    for _, key in ipairs(keys) do
        ports[key] = ports[key] or { protocol = listener.protocol, names = {}, count = 0,
            of_namespace = {} }
        local full = find_room(ports[key], record.namespace, listener.hostname)
        if full then
            listener.refused = { reason = "PortUnavailable", message = full }
            return {}
        end
    end
    return keys
end

local function signature_of(record)
    local list = {}
    for i, listener in ipairs(record.listeners) do
        list[i] = { listener.name, listener.port, listener.hostname, listener.kinds,
            listener.namespaces, listener.entries }
    end
    return signature(list)
end

function Gateways:compile(object, assigned, grants, ports)
    local metadata, spec = object.metadata, object.spec or {}
    local list = listeners.compile({ namespace = metadata.namespace, reads = self.reads,
        grants = grants, options = self.options, frontend = spec.tls and spec.tls.frontend },
        spec.listeners)
    local record = { key = key_of(object), object = object, namespace = metadata.namespace,
        name = metadata.name, listeners = list, assigned = assigned,
        shows_certificate = spec.tls ~= nil and spec.tls.backend ~= nil }
    record.refused = refusal_of(object, assigned, list)
    local reachable = not record.refused and not assigned.missing
        and not (assigned.unusable and #assigned.list == 0)
    for _, listener in ipairs(list) do
        listener.entries = reachable and listeners.programmed(listener)
            and bind(record, listener, ports) or {}
    end
    record.refused = record.refused or refusal_of(object, assigned, list)
    record.signature = signature_of(record)
    return record
end

-- A Gateway that no CRD has checked and that makes no sense is refused; the others stay.
function Gateways:try(object, assigned, grants, ports)
    local valid, record = pcall(self.compile, self, object, assigned, grants, ports)
    if valid then
        return record
    end
    local metadata = object.metadata
    return { key = key_of(object), object = object, namespace = metadata.namespace,
        name = metadata.name, listeners = {}, assigned = assigned, signature = "malformed",
        refused = { reason = "Invalid", message = "the Gateway is malformed: "
            .. tostring(record) } }
end

---Compiles all Gateways, if one of them or what they read has changed.
---@param grants table<string, table<string, table>>
---@param is_ours fun(class: string): boolean
---@return table<string, true> changed keys of Gateways whose routes must be attached anew
---@return boolean ran
function Gateways:run(grants, is_ours)
    if not self.dirty then
        return {}, false
    end
    self.dirty, self.reads = false, {}
    local list, records, changed, ports = self:ours(is_ours), {}, {}, {}
    local assigned = addresses.assign(list, self.options, self.kept, key_of)
    self.kept = {}
    for _, object in ipairs(list) do
        self.options.pace()
        local key = key_of(object)
        local record = self:try(object, assigned[key], grants, ports)
        records[key] = record
        self.kept[key] = record.assigned.own and record.assigned.list[1] or nil
        local before = self.records[key]
        changed[key] = (not before or before.signature ~= record.signature) or nil
    end
    for key in pairs(self.records) do
        changed[key] = not records[key] or changed[key]
    end
    self.records = records
    return changed, true
end

---The bindings of a Gateway for gateway.entries.
---@param record resty.kubelua.gateway.GatewayRecord
---@return resty.kubelua.gateway.Binding[]
function gateways.bindings(record)
    local list = {}
    for _, listener in ipairs(record.listeners) do
        for _, key in ipairs(listener.entries) do
            list[#list + 1] = { entry = key, listener = listener.hostname, tls = listener.tls,
                certificates = listener.certificates }
        end
    end
    return list
end

return gateways
