-- When a request is tried again: as its rule says (`retry` of an HTTPRoute), else as its balancer
-- does (annotations of the Service or the Ingress), else once, after errors and timeouts.
local places = require "resty.kubelua.gateway.balance.places"
local settings = require "resty.kubelua.gateway.balance.settings"

local retry_policy = {}

---@class resty.kubelua.gateway.RetryPolicy: resty.kubelua.gateway.Retry
---@field place string? the named location of nginx.conf; nil: any

local has_places = false
local known = setmetatable({}, { __mode = "k" })

---@param options resty.kubelua.GatewayOptions
function retry_policy.set_up(options)
    has_places = options.retries == true
end

-- nginx says of an invalid header what it says of an error.
local function reasons_of(given)
    local on = {}
    for reason in pairs(given) do
        on[reason] = true
    end
    on.error = on.error or on.invalid_header
    return on
end

local function make(given)
    local policy = { tries = given.tries, timeout = given.timeout,
        non_idempotent = given.non_idempotent, on = given.on and reasons_of(given.on) }
    policy.place = has_places and policy.on and policy.tries ~= 0
        and places.of(policy.on, policy.non_idempotent) or nil
    return policy
end

---@param state resty.kubelua.gateway.State
---@return resty.kubelua.gateway.RetryPolicy? policy nil: the usual one
function retry_policy.of(state)
    local of_rule = state.rule.retry
    local given = of_rule or state.balance and state.balance.retry
    if not given then
        return nil
    end
    local policy = known[given]
    if not policy then
        policy = make(of_rule and settings.of_route(of_rule) or given)
        known[given] = policy
    end
    return policy
end

return retry_policy
