-- The status of a Gateway and its listeners, from what compile found. Pure.
local conditions = require "resty.kubelua.gateway.compile.conditions"

local gateway_status = {}

local GROUP = "gateway.networking.k8s.io"
local ROUTES = { "HTTPRoute", "GRPCRoute" }
local OWNED = { OverlappingTLSConfig = true }

-- The names of listeners for which the test holds.
local function names_of(record, test)
    local names = {}
    for _, listener in ipairs(record.listeners) do
        if test(listener) then
            names[#names + 1] = listener.name
        end
    end
    return #names, table.concat(names, ", ")
end

local function condition_of(kind, failed, reason)
    if failed then
        return conditions.new(kind, false, failed.reason, failed.message)
    end
    return conditions.new(kind, true, reason or kind)
end

local function is_bound(listener)
    return #listener.entries > 0
end

local function listener_conditions(record, listener)
    local programmed = not is_bound(listener) and (listener.conflict or listener.idle
        or { reason = "Invalid", message = listener.refused and listener.refused.message
            or record.refused and record.refused.message or "the Gateway has no address" }) or nil
    local conflict = listener.conflict
    local list = {
        condition_of("Accepted", listener.refused),
        condition_of("Programmed", programmed),
        condition_of("ResolvedRefs", listener.unresolved),
        conditions.new("Conflicted", conflict ~= nil, conflict and conflict.reason or "NoConflicts",
            conflict and conflict.message),
    }
    if listener.overlap then
        list[#list + 1] = conditions.new("OverlappingTLSConfig", true, "OverlappingHostnames",
            listener.overlap)
    end
    return list
end

local function gateway_conditions(record)
    local assigned = record.assigned
    local refused, names = names_of(record, function(listener)
        return listener.refused ~= nil
    end)
    local accepted = conditions.new("Accepted", true, "Accepted")
    if record.refused then
        accepted = condition_of("Accepted", record.refused)
    elseif refused > 0 then
        accepted = conditions.new("Accepted", true, "ListenersNotValid",
            "these listeners are not served: " .. names)
    end
    local programmed
    if record.refused then
        programmed = { reason = "Invalid", message = record.refused.message }
    elseif assigned.unusable then
        programmed = { reason = "AddressNotUsable", message = assigned.unusable }
    elseif assigned.missing then
        programmed = { reason = "AddressNotAssigned",
            message = "all addresses of this gateway are in use" }
    elseif names_of(record, is_bound) == 0 then
        programmed = { reason = "Invalid", message = "no listener can be served" }
    end
    return { accepted, condition_of("Programmed", programmed) }
end

local function present_listener(present, name)
    for _, listener in ipairs(present.listeners or {}) do
        if listener.name == name then
            return listener
        end
    end
    return {}
end

local function kinds_of(listener, array)
    local kinds = {}
    for _, kind in ipairs(ROUTES) do
        if listener.kinds[kind] then
            kinds[#kinds + 1] = { group = GROUP, kind = kind }
        end
    end
    return array(kinds)
end

---@param record resty.kubelua.gateway.GatewayRecord
---@param attached table<string, integer> routes by name of the listener
---@param options table
---@return table status to write
function gateway_status.make(record, attached, options)
    local present, status = record.object.status or {}, {}
    for key, value in pairs(present) do
        status[key] = value
    end
    local generation, now = record.object.metadata.generation, options.now()
    status.conditions = conditions.merge(present.conditions, gateway_conditions(record), generation,
        now)
    local list = {}
    for i, listener in ipairs(record.listeners) do
        local before = present_listener(present, listener.name)
        list[i] = { name = listener.name, attachedRoutes = attached[listener.name] or 0,
            supportedKinds = kinds_of(listener, options.array),
            conditions = conditions.merge(before.conditions, listener_conditions(record, listener),
                generation, now, OWNED) }
    end
    status.listeners = options.array(list)
    local values = {}
    for i, address in ipairs(record.refused and {} or record.assigned.list) do
        values[i] = { type = "IPAddress", value = address }
    end
    status.addresses = options.array(values)
    return status
end

---What is to be said to people about a Gateway.
---@param record resty.kubelua.gateway.GatewayRecord
---@return { reason: string, message: string }[]
function gateway_status.problems(record)
    local list = { record.refused }
    for _, listener in ipairs(record.listeners) do
        for _, field in ipairs { "refused", "unresolved" } do
            local failed = listener[field]
            if failed then
                list[#list + 1] = { reason = failed.reason,
                    message = ("listener %s: %s"):format(listener.name, failed.message) }
            end
        end
    end
    local unusable = record.assigned.unusable
    if unusable then
        list[#list + 1] = { reason = "AddressNotUsable", message = unusable }
    end
    if record.shows_certificate then
        list[#list + 1] = { reason = "UnsupportedValue",
            message = "tls.backend: no client certificate is shown to backends" }
    end
    return list
end

return gateway_status
