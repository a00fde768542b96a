-- Reads the objects of a cluster for kubelua gateway check.
local clients = require "kubelua.client"
local core = require "kubelua.core"

-- What is read; a check can do without the optional ones. Many clusters lack the Gateway API.
local GATEWAY_API = ".gateway.networking.k8s.io"
local RESOURCES = { { "ingresses.networking.k8s.io" }, { "services" },
    { "ingressclasses.networking.k8s.io", optional = true, is_global = true },
    { "secrets", optional = true }, { "namespaces", optional = true, is_global = true } }
for _, name in ipairs { "gatewayclasses", "gateways", "httproutes", "grpcroutes",
    "referencegrants", "backendtlspolicies" } do
    RESOURCES[#RESOURCES + 1] = { name .. GATEWAY_API, optional = true, may_lack = true,
        is_global = name == "gatewayclasses" }
end
-- Of these a check says only that the gateway does not read them.
for _, name in ipairs { "tlsroutes", "tcproutes", "udproutes", "listenersets" } do
    RESOURCES[#RESOURCES + 1] = { name .. GATEWAY_API, optional = true, is_unread = true }
end

---Reads a cluster. nil, message: it cannot be read.
---@param options table of the command line
---@param visit fun(object: table, where: string)
---@param note fun(message: string) of what could not be read, but is not needed
---@return boolean?, string? message false: some routes could not be read, which was noted
return function(options, visit, note)
    local client, message = clients.connect { kubeconfig = options.kubeconfig,
        context = options.context }
    if not client then
        return nil, message
    end
    local is_whole = true
    for _, resource in ipairs(RESOURCES) do
        local list, problem, code = client:list(resource[1], {
            namespace = not resource.is_global and options.namespace or nil })
        if not list and not resource.optional then
            client:close()
            return nil, problem
        elseif not list and not resource.is_unread
            and not (resource.may_lack and code == "unknown_kind") then
            note(("%s are not checked: %s"):format(resource[1], problem))
            is_whole = is_whole and not resource.may_lack
        end
        for _, object in ipairs(list or {}) do
            visit(core.decode(core.encode(object)), "cluster")
        end
    end
    client:close()
    return is_whole
end
