-- Attaches a route to the listeners that its parentRefs name: section name and port, kinds and
-- namespaces that the listener allows, hostnames in common; in this order, which gives the reasons
-- of the Accepted condition. Pure.
local hostnames = require "resty.kubelua.gateway.compile.hostnames"
local selectors = require "resty.kubelua.gateway.compile.selectors"

local attach = {}

local GROUP = "gateway.networking.k8s.io"

---True if a parentRef names a Gateway (a Service is for meshes).
---@param ref table
---@return boolean
function attach.is_gateway(ref)
    return (ref.group or GROUP) == GROUP and (ref.kind or "Gateway") == "Gateway"
end

local function allows_namespace(listener, gateway_namespace, namespace, labels)
    local from = listener.namespaces.from or "Same"
    if from == "All" then
        return true
    elseif from == "Selector" then
        return selectors.matches(listener.namespaces.selector, labels)
    end
    return from == "Same" and namespace == gateway_namespace
end

local function select(list, test)
    local selected = {}
    for _, item in ipairs(list) do
        if test(item) then
            selected[#selected + 1] = item
        end
    end
    return selected
end

---@class resty.kubelua.gateway.Attachment
---@field listener resty.kubelua.gateway.Listener
---@field hosts string[]

local function with_hosts(list, names)
    local attachments = {}
    for _, listener in ipairs(list) do
        local hosts = hostnames.common(listener.hostname, names)
        if #hosts > 0 then
            attachments[#attachments + 1] = { listener = listener, hosts = hosts }
        end
    end
    return attachments
end

---@class resty.kubelua.gateway.Applicant the route that asks
---@field kind string
---@field namespace string
---@field labels table<string, string>? of its namespace
---@field hostnames string[]?

---@param gateway { namespace: string, listeners: resty.kubelua.gateway.Listener[] }
---@param ref table
---@param route resty.kubelua.gateway.Applicant
---@return resty.kubelua.gateway.Attachment[] empty: not attached
---@return string? reason
---@return string? message
function attach.find(gateway, ref, route)
    local named = select(gateway.listeners, function(listener)
        return (not ref.sectionName or ref.sectionName == "" or listener.name == ref.sectionName)
            and (not ref.port or listener.port == ref.port)
    end)
    if #named == 0 then
        return {}, "NoMatchingParent", "no listener of the Gateway has this section name and port"
    end
    local allowing = select(named, function(listener)
        return listener.kinds[route.kind]
            and allows_namespace(listener, gateway.namespace, route.namespace, route.labels)
    end)
    if #allowing == 0 then
        local lacks_h2c = #select(named, function(listener) return listener.lacks_h2c end) > 0
        return {}, "NotAllowedByListeners", ("no listener allows a %s of the namespace %s%s")
            :format(route.kind, route.namespace, route.kind == "GRPCRoute" and lacks_h2c
            and "; on HTTP it needs nginx 1.25.1" or "")
    end
    local attachments = with_hosts(allowing, route.hostnames)
    if #attachments == 0 then
        return {}, "NoMatchingListenerHostname",
            "the hostnames of the route and those of the listeners have nothing in common"
    end
    return attachments
end

return attach
