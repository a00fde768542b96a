-- The kinds of objects that the gateway watches, and what it may do with them: for source.lua, for
-- the rights in docs/GATEWAY.md, and for messages.
local kinds = {}

local GATEWAY = "gateway.networking.k8s.io"
local INGRESS = "networking.k8s.io"

---@class resty.kubelua.gateway.Kind
---@field kind string
---@field plural string
---@field group string "" is the core's
---@field status boolean? its status is written
---@field options table? of the informer
---@field name string? of its informer; default: the kind

---@type resty.kubelua.gateway.Kind[]
kinds.ALL = {
    { kind = "GatewayClass", plural = "gatewayclasses", group = GATEWAY, status = true },
    { kind = "Gateway", plural = "gateways", group = GATEWAY, status = true },
    { kind = "HTTPRoute", plural = "httproutes", group = GATEWAY, status = true },
    { kind = "GRPCRoute", plural = "grpcroutes", group = GATEWAY, status = true },
    { kind = "ReferenceGrant", plural = "referencegrants", group = GATEWAY },
    { kind = "BackendTLSPolicy", plural = "backendtlspolicies", group = GATEWAY, status = true },
    { kind = "Ingress", plural = "ingresses", group = INGRESS, status = true },
    { kind = "IngressClass", plural = "ingressclasses", group = INGRESS },
    { kind = "Namespace", plural = "namespaces", group = "", options = { metadata = true } },
    { kind = "Service", plural = "services", group = "" },
    { kind = "Secret", plural = "secrets", group = "",
        options = { fields = "type=kubernetes.io/tls" } },
    { kind = "Secret", plural = "secrets", group = "", name = "users",
        options = { fields = "type=Opaque", metadata = true, drop = "metadata.annotations" } },
}

---The ConfigMaps of a namespace, for Lua on the route.
---@param namespace string "*": all
---@return resty.kubelua.gateway.Kind
function kinds.scripts(namespace)
    return { kind = "ConfigMap", plural = "configmaps", group = "",
        name = namespace ~= "*" and "ConfigMap " .. namespace or nil,
        options = { namespace = namespace } }
end

---The name of a kind's resource for a client: "gateways.gateway.networking.k8s.io".
---@param kind resty.kubelua.gateway.Kind
---@return string
function kinds.resource(kind)
    return kind.group == "" and kind.plural or kind.plural .. "." .. kind.group
end

---The resource of a kind by its name.
---@param name string
---@return string
function kinds.resource_of(name)
    for _, kind in ipairs(kinds.ALL) do
        if kind.kind == name then
            return kinds.resource(kind)
        end
    end
    error("no such kind: " .. name)
end

return kinds
