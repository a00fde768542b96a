-- What the balancers know of an endpoint, to be shown. Looking makes no endpoint known.
local defaults = require "resty.kubelua.gateway.balance.defaults"
local library = require "resty.kubelua.library"
local load = require "resty.kubelua.gateway.balance.load"

local BRACKET = 91 -- "["

---@class resty.kubelua.gateway.Look
---@field in_flight integer requests of all workers
---@field fails integer that count now
---@field out_for number? seconds for which it gets no requests
---@field latency number? seconds: the moving average of ewma
---@field age number? seconds since it came; nil: it was there before
---@field slow_start number? seconds for which it gets less than its share

---The state of an endpoint; nil: no request went to its Service lately.
---@param endpoint resty.kubelua.Endpoint
---@param settings resty.kubelua.gateway.BalanceSettings? of its Service
---@return resty.kubelua.gateway.Look?
return function(endpoint, settings)
    settings = settings or {}
    local host = endpoint.host
    local name = (host:byte() == BRACKET and host:sub(2, -2) or host) .. ":" .. endpoint.port
    local state = load.look(library.kl_shared_hash(name, #name), endpoint.pod)
    if not state then
        return nil
    end
    local most = settings.max_fails or defaults.max_fails
    local out = (settings.fail_timeout or defaults.fail_timeout) - (state.failed or math.huge)
    local slow = (settings.slow_start or defaults.slow_start[settings.by] or 0)
        - (state.age or math.huge)
    return { in_flight = state.in_flight, fails = state.fails, latency = state.latency,
        age = state.age, slow_start = slow > 0 and slow or nil,
        out_for = most > 0 and state.fails >= most and out > 0 and out or nil }
end
