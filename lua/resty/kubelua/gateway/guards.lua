-- What guards the paths of an Ingress: lists of addresses, passwords. A request passes only if each
-- guard says so; what cannot be checked does not pass.
local basic_auth = require "resty.kubelua.gateway.basic_auth"
local cidr = require "resty.kubelua.gateway.cidr"

local guards = {}

---@class resty.kubelua.gateway.Guard
---@field allow kubelua.gateway.AddressSet?
---@field deny kubelua.gateway.AddressSet?
---@field basic table?

---The guard that settings ask for; nil: none.
---@param settings table
---@return resty.kubelua.gateway.Guard?
function guards.new(settings)
    local guard = { allow = settings.allow and cidr.set(settings.allow),
        deny = settings.deny and cidr.set(settings.deny), basic = settings.basic_auth }
    return next(guard) and guard or nil
end

-- The status that the address of the client gets.
local function check_address(guard)
    local address = (guard.allow or guard.deny) and ngx.var.remote_addr
    if guard.deny and guard.deny:has(address) or guard.allow and not guard.allow:has(address) then
        return 403
    end
end

---The status for a request that may not pass; nil: it may.
---@param guard resty.kubelua.gateway.Guard
---@return integer? status
---@return string? why for the log
function guards.check(guard)
    local status, why = check_address(guard)
    if not status and guard.basic then
        status, why = basic_auth.check(guard.basic)
        if status == 401 then
            basic_auth.ask(guard.basic)
        end
    end
    return status, why
end

return guards
