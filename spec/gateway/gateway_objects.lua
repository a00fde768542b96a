-- Objects of Gateway API for the specs of compile, and what they ask of its results.
local compile = require "resty.kubelua.gateway.compile"

local objects = {}

local NOW = "2026-11-27T12:00:00Z"

local function metadata_of(name, more)
    local namespace, plain = name:match("^([^/]+)/(.+)$")
    local metadata = { namespace = namespace, name = plain or name, uid = "uid of " .. name,
        generation = 1, creationTimestamp = "2026-01-01T00:00:00Z" }
    for key, value in pairs(more or {}) do
        metadata[key] = value
    end
    return metadata
end

function objects.class(more)
    return { kind = "GatewayClass", metadata = metadata_of("kubelua", more),
        spec = { controllerName = "kubelua.dev/gateway" } }
end

function objects.listener(name, port, more)
    local listener = { name = name, port = port, protocol = "HTTP" }
    for key, value in pairs(more or {}) do
        listener[key] = value
    end
    return listener
end

function objects.gateway(name, listeners, more)
    local spec = { gatewayClassName = "kubelua", listeners = listeners }
    for key, value in pairs(more or {}) do
        spec[key] = value
    end
    return { kind = "Gateway", metadata = metadata_of(name), spec = spec }
end

function objects.route(name, spec, more)
    spec.parentRefs = spec.parentRefs or { { name = "gate" } }
    return { kind = "HTTPRoute", metadata = metadata_of(name, more), spec = spec }
end

function objects.grpc_route(name, spec, more)
    local route = objects.route(name, spec, more)
    route.kind = "GRPCRoute"
    return route
end

function objects.service(name, ports, more)
    local list = {}
    for i, port in ipairs(ports or { 80 }) do
        list[i] = type(port) == "table" and port or { port = port, protocol = "TCP" }
    end
    local spec = { ports = list }
    for key, value in pairs(more or {}) do
        spec[key] = value
    end
    return { kind = "Service", metadata = metadata_of(name), spec = spec }
end

function objects.grant(name, from, to)
    return { kind = "ReferenceGrant", metadata = metadata_of(name),
        spec = { from = { from }, to = { to } } }
end

-- The next version of an object: a new generation, unless only its status changed.
function objects.next(object, change)
    local new = {}
    for key, value in pairs(object) do
        new[key] = value
    end
    new.metadata = {}
    for key, value in pairs(object.metadata) do
        new.metadata[key] = value
    end
    new.metadata.generation = object.metadata.generation + 1
    for key, value in pairs(change or {}) do
        new[key] = value
    end
    return new
end

-- A compiler with the class, and with the objects that are given.
function objects.compiler(options, ...)
    local settings = { now = function()
        return NOW
    end, bundle = "v1.6.3", addresses = { "10.0.0.1" } }
    for key, value in pairs(options or {}) do
        settings[key] = value
    end
    local compiler = compile.new(settings)
    compiler:set("GatewayClass", objects.class())
    for _, object in ipairs { ... } do
        compiler:set(object.kind, object)
    end
    return compiler
end

-- The status in a result of an object: "HTTPRoute web/shop".
function objects.status(result, name)
    for _, item in ipairs(result.statuses) do
        local space = item.namespace and item.namespace .. "/" or ""
        if item.kind .. " " .. space .. item.name == name then
            return item.status
        end
    end
end

-- A condition as a text: "Accepted False NoMatchingParent".
function objects.condition(list, kind)
    for _, condition in ipairs(list or {}) do
        if condition.type == kind then
            return ("%s %s %s"):format(kind, condition.status, condition.reason), condition
        end
    end
end

-- A condition of a route's parent.
function objects.of_parent(result, name, kind, at)
    local status = objects.status(result, name)
    local parent = status and status.parents[at or 1]
    return (objects.condition(parent and parent.conditions, kind))
end

-- A listener in the status of a Gateway.
function objects.of_listener(result, name, listener)
    for _, item in ipairs((objects.status(result, name) or {}).listeners or {}) do
        if item.name == listener then
            return item
        end
    end
end

function objects.keys(map)
    local keys = {}
    for key in pairs(map) do
        keys[#keys + 1] = key
    end
    table.sort(keys)
    return keys
end

return objects
