-- Peak EWMA: of two random endpoints that where a request would be answered first, by the average
-- time of its answers and the requests in flight. One without an average has that of the others.
-- Pure.
local choose = require "resty.kubelua.gateway.balance.two_choices"

local NEW_PART = 0.05 -- of an average of endpoints in the mean of all

local function latency_of(ask, index)
    local group = ask.group
    local latency = ask.load.latency(group.rows[index], ask.now)
    if latency < 0 then
        return group.mean or 1
    end
    local mean = group.mean or latency
    group.mean = mean + (latency - mean) * NEW_PART
    return latency
end

local function cost(ask, index)
    local group = ask.group
    local wait = latency_of(ask, index) * (ask.load.in_flight(group.rows[index]) + 1)
    return group.weights and wait / group.weights[index] or wait
end

---@param ask resty.kubelua.gateway.Ask
---@return integer? index nil: all were tried
return function(ask)
    return choose(ask, cost)
end
