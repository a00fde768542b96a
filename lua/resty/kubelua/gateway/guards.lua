-- What guards the paths of an Ingress: limits, lists of addresses, passwords, an auth service. A
-- request passes only if each guard says so (with satisfy: any one of the last three); what cannot
-- be checked does not pass.
local auth_service = require "resty.kubelua.gateway.auth_service"
local basic_auth = require "resty.kubelua.gateway.basic_auth"
local cidr = require "resty.kubelua.gateway.cidr"
local limits = require "resty.kubelua.gateway.limits"

local guards = {}

---@class resty.kubelua.gateway.Guard
---@field allow kubelua.gateway.AddressSet?
---@field deny kubelua.gateway.AddressSet?
---@field basic table?
---@field service table?
---@field any boolean?
---@field limits resty.kubelua.gateway.Limits?
---@field rate { bytes: integer, after: integer }? of the answer

---The guard that settings ask for; nil: none.
---@param settings table
---@param source string of the rule
---@return resty.kubelua.gateway.Guard?
function guards.new(settings, source)
    local guard = { allow = settings.allow and cidr.set(settings.allow),
        deny = settings.deny and cidr.set(settings.deny), basic = settings.basic_auth,
        limits = settings.limits and limits.new(settings.limits, source), rate = settings.rate,
        service = settings.auth_request, any = settings.satisfy_any }
    return next(guard) and guard or nil
end

-- The status that the address of the client gets; false: no list has a say.
local function check_address(guard)
    if not guard.allow and not guard.deny then
        return false
    end
    local address = ngx.var.remote_addr
    if guard.deny and guard.deny:has(address) or guard.allow and not guard.allow:has(address) then
        return 403
    end
end

local function check_basic(guard)
    if not guard.basic then
        return false
    end
    local status, why = basic_auth.check(guard.basic)
    if status == 401 then
        basic_auth.ask(guard.basic)
    end
    return status, why
end

local function check_service(guard, state)
    if not guard.service then
        return false
    end
    return auth_service.check(guard.service, state)
end

local CHECKS = { check_address, check_basic, check_service }

-- Every check must pass.
local function check_all(guard, state)
    for i = 1, #CHECKS do
        local status, why = CHECKS[i](guard, state)
        if status then
            return status, why
        end
    end
end

-- One check must pass, as with nginx's `satisfy any`. The last refusal is the answer.
local function check_any(guard, state)
    local refusal
    for i = 1, #CHECKS do
        local status, why = CHECKS[i](guard, state)
        if status == nil then
            return nil
        elseif status and status >= 500 then
            return status, why
        end
        refusal = status or refusal
    end
    return refusal
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
    if not status then
        status, why = (guard.any and check_any or check_all)(guard, state)
    end
    if not status and guard.basic then
        basic_auth.hide()
    end
    if not status and guard.rate then
        limit_rate(guard.rate)
    end
    return status, why
end

return guards
