-- What nginx tells balancer_by_lua of the try before, when it asks for another endpoint. It asks
-- after a failure that proxy_next_upstream names, as long as there are tries; and once more for
-- each error on a kept connection, since a backend may close one at any moment: that costs no try.
local balancer = require "ngx.balancer"
local retries = require "resty.kubelua.gateway.balance.retries"

local last_try = {}

local var = ngx.var
local TIMED_OUT = 504
local LIMIT = 100 -- proxy_next_upstream_tries of nginx.conf

-- The last of "12, 34 : 56 : ": nginx lists all tries, but not yet the one that begins.
local function last_number(list)
    return list and tonumber(list:match("([^, :]+)[, :]*$"))
end

local function is_reduced(count)
    local _, why = balancer.set_more_tries(count)
    return why ~= nil
end

-- True if the try was on a kept connection, and cost none: nginx then has more tries left than it
-- would have. Their number shows in how many more its limit lets it be given. nil: nginx.conf has
-- another limit, or none.
local function was_kept(state)
    local room = LIMIT - 1 - state.more - (state.kept or 0)
    local low, middle, high = is_reduced(room - 1), is_reduced(room), is_reduced(room + 1)
    balancer.set_more_tries(0)
    if low or not high then
        return nil
    end
    return middle
end

---Looks at the try before. Call it once for each.
---@param state resty.kubelua.gateway.State its `kept` grows, if a kept connection failed
---@return resty.kubelua.gateway.Attempt
---@return boolean is_kept true: the connection was a kept one, which the endpoint has closed
function last_try.read(state)
    local _, status = balancer.get_last_failure()
    local outcome = status == TIMED_OUT and "timeout" or "error"
    if last_number(var.upstream_header_time) then
        outcome = status
    end
    local is_kept = outcome == "error" and was_kept(state) or false
    if is_kept then
        state.kept = (state.kept or 0) + 1
    end
    return { method = ngx.req.get_method(), outcome = outcome,
        sent = last_number(var.upstream_bytes_sent) ~= 0,
        tries = state.tries - (state.kept or 0),
        -- after a status nginx has dropped the answer: too late to give up
        seconds = outcome ~= status and ngx.now() - state.began or nil }, is_kept
end

---True if the request may be sent again.
---@param policy resty.kubelua.gateway.Retry?
---@param attempt resty.kubelua.gateway.Attempt
---@param state resty.kubelua.gateway.State
---@return boolean
function last_try.allows_another(policy, attempt, state)
    return (state.kept or 0) <= last_try.MOST_KEPT and retries.allows(policy, attempt)
end

-- So many kept connections may fail of one request: it may be the request that makes them fail.
last_try.MOST_KEPT = 10

return last_try
