-- What guards the paths of an Ingress: limits, lists of addresses, passwords. A request passes only
-- if each guard says so; what cannot be checked does not pass.
local basic_auth = require "resty.kubelua.gateway.basic_auth"
local cidr = require "resty.kubelua.gateway.cidr"
local limits = require "resty.kubelua.gateway.limits"

local guards = {}

---@class resty.kubelua.gateway.Guard
---@field allow kubelua.gateway.AddressSet?
---@field deny kubelua.gateway.AddressSet?
---@field basic table?
---@field limits resty.kubelua.gateway.Limits?
---@field rate { bytes: integer, after: integer }? of the answer

---The guard that settings ask for; nil: none.
---@param settings table
---@param source string of the rule
---@return resty.kubelua.gateway.Guard?
function guards.new(settings, source)
    local guard = { allow = settings.allow and cidr.set(settings.allow),
        deny = settings.deny and cidr.set(settings.deny), basic = settings.basic_auth,
        limits = settings.limits and limits.new(settings.limits, source), rate = settings.rate }
    return next(guard) and guard or nil
end

-- The status that the address of the client gets.
local function check_address(guard)
    local address = (guard.allow or guard.deny) and ngx.var.remote_addr
    if guard.deny and guard.deny:has(address) or guard.allow and not guard.allow:has(address) then
        return 403
    end
end

local function limit_rate(rate)
    ngx.var.limit_rate, ngx.var.kubelua_rate_after = rate.bytes, rate.after
end

---The status for a request that may not pass; nil: it may.
---@param guard resty.kubelua.gateway.Guard
---@param state resty.kubelua.gateway.State
---@return integer? status
---@return string? why for the log
function guards.check(guard, state)
    local status, why
    if guard.limits then
        status, why = limits.check(guard.limits, state)
    end
    status = status or check_address(guard)
    if not status and guard.basic then
        status, why = basic_auth.check(guard.basic)
        if status == 401 then
            basic_auth.ask(guard.basic)
        end
    end
    if guard.rate and not status then
        limit_rate(guard.rate)
    end
    return status, why
end

return guards
