-- Least connections: of two random endpoints that with fewer requests in flight for its weight.
-- Pure.
local choose = require "resty.kubelua.gateway.balance.two_choices"

local function cost(ask, index)
    local group = ask.group
    local requests = ask.load.in_flight(group.rows[index]) + 1
    return group.weights and requests / group.weights[index] or requests
end

---@param ask resty.kubelua.gateway.Ask
---@return integer? index nil: all were tried
return function(ask)
    return choose(ask, cost)
end
