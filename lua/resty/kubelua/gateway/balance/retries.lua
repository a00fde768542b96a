-- Which requests are tried again at another endpoint: never one that may have had an effect. Pure.
local retries = {}

---What is known of a request that an endpoint did not answer as it should.
---@class resty.kubelua.gateway.Attempt
---@field method string
---@field sent boolean bytes of the request went out
---@field outcome "error"|"timeout"|"invalid_header"|integer or the status of the answer
---@field tries integer how often it was tried so far; not on kept connections that were closed
---@field seconds number? since it was first tried
---@field answered boolean? bytes of an answer went to the client

local DEFAULT = { tries = 1, on = { error = true, timeout = true } }

-- Twice is as once (RFC 9110, 9.2.2). nginx repeats all but POST, LOCK and PATCH: also methods that
-- it does not know.
local IDEMPOTENT = { GET = true, HEAD = true, OPTIONS = true, TRACE = true, PUT = true,
    DELETE = true }
local GUARDED = { POST = true, LOCK = true, PATCH = true } -- by nginx

---@param policy resty.kubelua.gateway.Retry?
---@param attempt resty.kubelua.gateway.Attempt
---@return boolean
function retries.allows(policy, attempt)
    policy = policy or DEFAULT
    local tries = policy.tries or 1
    if attempt.answered or tries == 0 or attempt.tries > tries
        or not (policy.on or DEFAULT.on)[tostring(attempt.outcome)] then
        return false
    end
    if policy.timeout and (attempt.seconds or 0) >= policy.timeout then
        return false
    end
    return not attempt.sent or policy.non_idempotent or IDEMPOTENT[attempt.method] or false
end

---How often nginx may try a request again, for set_more_tries of ngx.balancer. It then asks for
---another endpoint, which `allows` decides about.
---@param policy resty.kubelua.gateway.Retry?
---@param method string
---@param by_status boolean also after statuses: before nginx asks, it has dropped the answer, so it
---must not ask for what is not repeated. It holds back POST, LOCK and PATCH itself
---@return integer
function retries.more(policy, method, by_status)
    policy = policy or DEFAULT
    if by_status and not (policy.non_idempotent or IDEMPOTENT[method] or GUARDED[method]) then
        return 0
    end
    return policy.tries or 1
end

return retries
