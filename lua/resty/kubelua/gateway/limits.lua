-- How many requests a client may make to the paths of an Ingress: by second, by minute, and at one
-- time. All workers count together in a shared dictionary of nginx. It never grows: when it is
-- full, the count that was not used for longest is dropped, so that client begins anew.
local cidr = require "resty.kubelua.gateway.cidr"

local limits = {}

local dictionary = ngx.shared.kubelua_limits

---@class resty.kubelua.gateway.Limits
---@field rates { key: string, step: number, room: number }[] seconds for a request, and of a burst
---@field connections integer?
---@field key string of connections
---@field allow kubelua.gateway.AddressSet? without limits

local ROUNDING = 1e-6

---Makes the limits of an Ingress ready.
---@param settings table limits of the settings
---@param source string of the rule: "Ingress web/shop 1"
---@return resty.kubelua.gateway.Limits
function limits.new(settings, source)
    local mark = ngx.md5_bin(source:match("^Ingress %S+") or source)
    local made = { rates = {}, connections = settings.connections, key = mark .. "c",
        allow = settings.allow and cidr.set(settings.allow) }
    for field, seconds in pairs { rps = 1, rpm = 60 } do
        local count = settings[field]
        if count then
            table.insert(made.rates, { key = mark .. field, step = seconds / count,
                room = settings.burst_multiplier * seconds })
        end
    end
    return made
end

-- As nginx's limit_req with a burst and nodelay. The dictionary has the time at which the client
-- has its whole burst again; each request moves it on. True: the request is one too many.
local function is_over(rate, client)
    local now = ngx.now()
    local key = rate.key .. client
    local free = dictionary:incr(key, rate.step, now - rate.step)
    if not free or free < now then
        dictionary:set(key, now)
    elseif free > now + rate.room + ROUNDING then
        dictionary:incr(key, -rate.step)
        return true
    end
    return false
end

-- Each worker counts its requests under a name of its own, which a worker that takes its place does
-- not have: so a worker that is killed takes its counts with it.
local own ---@type string?

local function generation_of(id)
    return id .. "." .. (dictionary:get("worker " .. id) or 0)
end

local function own_name()
    if not own then
        local id = ngx.worker.id() or 0
        dictionary:incr("worker " .. id, 1, 0)
        own = generation_of(id)
    end
    return own
end

-- Counts a request. nil: it is one too many.
local function count_request(limit, client)
    local key = limit.key .. client
    local mine = key .. own_name()
    local count = dictionary:incr(mine, 1, 0) or 0
    for id = 0, ngx.worker.count() - 1 do
        local other = key .. generation_of(id)
        count = count + (other ~= mine and dictionary:get(other) or 0)
    end
    if count > limit.connections then
        limits.release(mine)
        return nil
    end
    return mine
end

---The end of a request that was counted.
---@param key string
function limits.release(key)
    if (dictionary:incr(key, -1) or 1) <= 0 then
        dictionary:delete(key)
    end
end

---Counts a request. Its end is told by `release` with the state's `counted`.
---@param limit resty.kubelua.gateway.Limits
---@param state resty.kubelua.gateway.State
---@return integer? status nil: the request may pass
---@return string? why for the log
function limits.check(limit, state)
    if not dictionary then
        return 503, "nginx.conf lacks the line: lua_shared_dict kubelua_limits 10m;"
    elseif limit.allow and limit.allow:has(ngx.var.remote_addr) then
        return nil
    end
    local client = cidr.client(ngx.var.binary_remote_addr)
    for _, rate in ipairs(limit.rates) do
        if is_over(rate, client) then
            return 503
        end
    end
    if limit.connections then
        state.counted = count_request(limit, client)
        if not state.counted then
            return 503
        end
    end
end

return limits
