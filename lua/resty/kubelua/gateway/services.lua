-- The Services that requests go to, by name. Each is made once in a worker and goes on through
-- changes of routes: what a balancer knows (whose turn it is, which endpoint has which keys) is
-- kept with it, while backends are new tables after each change.
local balance = require "resty.kubelua.gateway.balance"
local cold = require "resty.kubelua.cold"
local routing = require "resty.kubelua.gateway.routing"

local services = {}

local FORGET, SWEEP = 600, 60 -- seconds: without a request; between two looks

local of_settings = setmetatable({}, { __mode = "k" })
local by_name, swept = {}, 0

local function forget_unused()
    local now = ngx.now()
    if now - swept < SWEEP then
        return
    end
    swept = now
    for name, service in pairs(by_name) do
        if balance.is_unused(service, FORGET) then
            by_name[name] = nil
        end
    end
end

local find = cold(function(backend)
    forget_unused()
    local name = backend.service
    local service = by_name[name] or routing.kube.service(name)
    by_name[name], backend.found = service, service
    return service
end)

---The Service of a backend.
---@param backend table BACKEND of a rule; it gets a field `found`
---@return resty.kubelua.Service
function services.of(backend)
    return backend.found or find(backend)
end

---The backend that takes requests of a rule whose own Service has no endpoints.
---@param settings table? of the rule
---@return table? backend nil: there is none
function services.default_backend(settings)
    local name = settings and settings.default_backend
    if not name then
        return nil
    end
    local backend = of_settings[settings]
    if not backend then
        backend = { service = name, balance = settings.default_balance }
        of_settings[settings] = backend
    end
    return backend
end

return services
