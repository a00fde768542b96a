-- Finds the informers of the core below an informer: itself, or one for each of several namespaces
-- (several_namespaces.lua).
local core = require "kubelua.core"

local KEY = {} -- an informer of several namespaces has its parts under this key

---@class kubelua.NamespacePart
---@field namespace string
---@field informer kubelua.Informer of that namespace alone
---@field state table the informer's

local informer_parts = { KEY = KEY }

local function read_parts(informer)
    return type(informer) == "table" and informer[KEY] or nil
end

---The informers of the core below an informer: itself, or one for each namespace.
---@param informer kubelua.Informer
---@return kubelua.Informer[]
function informer_parts.informers(informer)
    local all = {}
    for i, part in ipairs(read_parts(informer) or { { informer = informer } }) do
        all[i] = part.informer
    end
    return all
end

---The options of an informer: the resource, the selectors, the namespaces (several as a list).
---@param informer kubelua.Informer
---@return table request
function informer_parts.request(informer)
    local parts = read_parts(informer)
    if not parts then
        return core.state(informer, "kubelua.informer").request
    end
    local request = { namespace = {} }
    for name, value in pairs(parts[1].state.request) do
        request[name] = request[name] or value
    end
    for i, part in ipairs(parts) do
        request.namespace[i] = part.namespace
    end
    return request
end

---The informer of the core that has the objects of a namespace; nil if there is none.
---@param informer kubelua.Informer
---@param namespace string? nil: the kind is cluster-scoped
---@return kubelua.Informer?
function informer_parts.informer(informer, namespace)
    local parts = read_parts(informer)
    if not parts then
        return informer
    end
    for _, part in ipairs(parts) do
        if part.namespace == namespace then
            return part.informer
        end
    end
    return nil
end

---The registrations on an informer of the core, as a set.
---@param informer kubelua.Informer
---@return table<kubelua.Registration, true>
function informer_parts.registrations(informer)
    return core.state(informer, "kubelua.informer").registrations
end

---The name of an informer of the core in messages: "pods in web".
---@param informer kubelua.Informer
---@return string
function informer_parts.tell(informer)
    local request = informer_parts.request(informer)
    local namespace = request.namespace
    return request.resource .. (namespace and namespace ~= "*" and " in " .. namespace or "")
end

return informer_parts
