-- Which endpoint of a backend's Service takes a request.
local routing = require "resty.kubelua.gateway.routing"

local endpoints = {}

-- The Service of each backend, resolved once. Weak: it goes with its backend.
local services = setmetatable({}, { __mode = "k" })

local function service_of(backend)
    local service = services[backend]
    if not service then
        service = routing.kube.service(backend.service)
        services[backend] = service
    end
    return service
end

local function name_of(state)
    return state.host .. ":" .. state.port
end

---The first endpoint for a request.
---@param state resty.kubelua.gateway.State
---@return string? host nil: there is none
---@return integer|string port or why there is none
function endpoints.pick(state)
    local host, port = service_of(state.backend):pick()
    local other = not host and (state.rule.settings or {}).default_backend
    if other then
        return routing.kube.pick(other)
    end
    return host, port
end

---Another endpoint, after one that failed; the same, if there is no other.
---@param state resty.kubelua.gateway.State
function endpoints.pick_other(state)
    state.tried = state.tried or {}
    table.insert(state.tried, name_of(state))
    local host, port = service_of(state.backend):pick { exclude = state.tried }
    if host then
        state.host, state.port = host, port
    end
end

return endpoints
