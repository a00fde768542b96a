-- References of routes and Gateways to objects: ReferenceGrants, Services as backends with their
-- ports and protocols. The reasons are those of Gateway API's ResolvedRefs condition. Pure.
local references = {}

local GROUP = "gateway.networking.k8s.io"

---The key of an object in all tables of compile.
---@param kind string
---@param namespace string?
---@param name string
---@return string
function references.key(kind, namespace, name)
    return kind .. " " .. (namespace and namespace ~= "" and namespace .. "/" or "") .. name
end

---What a key was made of.
---@param key string
---@return string kind
---@return string? namespace
---@return string name
function references.parts(key)
    local kind, rest = key:match("^(%S+) (.*)$")
    local namespace, name = rest:match("^([^/]*)/(.*)$")
    return kind, namespace, name or rest
end

---@class resty.kubelua.gateway.Reference
---@field kind string of the object that refers: "HTTPRoute"
---@field namespace string of the object that refers
---@field to_group string
---@field to_kind string
---@field to_namespace string
---@field to_name string

local function allows(list, test)
    for _, item in ipairs(list or {}) do
        if test(item) then
            return true
        end
    end
    return false
end

---True if a reference stays in its namespace or a ReferenceGrant of the target's allows it.
---@param grants table<string, table> the ReferenceGrants of the target's namespace
---@param reference resty.kubelua.gateway.Reference
---@return boolean
function references.permitted(grants, reference)
    if reference.namespace == reference.to_namespace then
        return true
    end
    for _, grant in pairs(grants or {}) do
        local spec = grant.spec or {}
        if allows(spec.from, function(from)
            return from.group == GROUP and from.kind == reference.kind
                and from.namespace == reference.namespace
        end) and allows(spec.to, function(to)
            return (to.group or "") == reference.to_group and to.kind == reference.to_kind
                and (to.name == nil or to.name == "" or to.name == reference.to_name)
        end) then
            return true
        end
    end
    return false
end

-- appProtocol of a Service's port (KEP-3726) to the protocol of a backend; others are HTTP.
local PROTOCOLS = {
    HTTPRoute = { ["kubernetes.io/h2c"] = "h2c", ["kubernetes.io/ws"] = "ws", https = "https",
        ["kubernetes.io/wss"] = "https" },
    GRPCRoute = { https = "grpcs" },
}
local UNSUPPORTED = { HTTPRoute = {}, GRPCRoute = { ["kubernetes.io/ws"] = true,
    ["kubernetes.io/wss"] = true } }

---What compile needs of a Service.
---@param object table
---@return table
function references.service(object)
    local spec, ports = object.spec or {}, {}
    for _, port in ipairs(spec.ports or {}) do
        if port.port and (port.protocol or "TCP") == "TCP" then
            ports[port.port] = { name = port.name or "", protocol = port.appProtocol }
        end
    end
    local metadata = object.metadata or {}
    return { external = spec.type == "ExternalName", ports = ports,
        annotations = metadata.annotations }
end

local function refuse(reason, message, ...)
    return nil, reason, message:format(...)
end

---@class resty.kubelua.gateway.Cluster what compile knows
---@field grants table<string, table<string, table>> by namespace
---@field services table<string, table> by "Service namespace/name"
---@field policies table policy for a Service and a port name
---@field options table

---@class resty.kubelua.gateway.Reader which object is compiled, and what it has read
---@field kind string
---@field namespace string
---@field reads table<string, true>
---@field cluster resty.kubelua.gateway.Cluster

-- The Service of a reference, or nil, reason, message.
local function find_service(reader, ref)
    local group, kind = ref.group or "", ref.kind or "Service"
    if group ~= "" or kind ~= "Service" then
        return refuse("InvalidKind", "the backend %s has the kind %s%s: only Services are served",
            tostring(ref.name), group == "" and "" or group .. "/", kind)
    end
    local cluster, namespace = reader.cluster, ref.namespace or reader.namespace
    local key = references.key("Service", namespace, ref.name)
    reader.reads[key] = true
    if namespace ~= reader.namespace then
        reader.reads["ReferenceGrant " .. namespace] = true
    end
    if not references.permitted(cluster.grants[namespace], { kind = reader.kind,
        namespace = reader.namespace, to_group = "", to_kind = "Service",
        to_namespace = namespace, to_name = ref.name }) then
        return refuse("RefNotPermitted", "no ReferenceGrant in %s lets a %s of %s refer to the"
            .. " Service %s", namespace, reader.kind, reader.namespace, ref.name)
    end
    local service = cluster.services[key]
    if not service then
        return refuse("BackendNotFound", "there is no Service %s/%s", namespace, ref.name)
    elseif service.external then
        return refuse("InvalidKind", "the Service %s/%s is an ExternalName, which could lead"
            .. " anywhere: it is not served", namespace, ref.name)
    end
    return service, key, namespace
end

---@param reader resty.kubelua.gateway.Reader
---@param ref table group, kind, namespace, name and port
---@return table? backend { service, protocol, balance }
---@return string? reason
---@return string? message
function references.backend(reader, ref)
    local service, key, namespace = find_service(reader, ref)
    if not service then
        return nil, key, namespace
    end
    local port = ref.port and service.ports[ref.port]
    if not port then
        return refuse("BackendNotFound", "the Service %s/%s has no TCP port %s", namespace,
            ref.name, ref.port and ("%d"):format(ref.port) or "(none is named)")
    end
    local unchecked = reader.cluster.policies:refusal(key, port.name)
    if unchecked then
        return refuse("InvalidBackendTLSPolicy", "%s", unchecked)
    end
    local route = UNSUPPORTED[reader.kind] and reader.kind or "HTTPRoute"
    if UNSUPPORTED[route][port.protocol or ""] then
        return refuse("UnsupportedProtocol", "the Service %s/%s speaks %s, which a %s cannot use",
            namespace, ref.name, port.protocol, reader.kind)
    end
    local backend = { service = ("%s/%s:%d"):format(namespace, ref.name, ref.port),
        protocol = PROTOCOLS[route][port.protocol or ""] or (route == "GRPCRoute" and "grpc")
            or nil }
    local balance = reader.cluster.options.balance
    if balance and service.annotations then
        backend.balance = (balance(service.annotations))
    end
    return backend
end

return references
