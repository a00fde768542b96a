-- Round robin: endpoints take turns, as many as their weights say, spread evenly. Pure.
local groups = require "resty.kubelua.gateway.balance.group"
local usable = require "resty.kubelua.gateway.balance.usable"

local admits, is_early, at_share = usable.admits, usable.is_early, groups.at_share

-- Turns times the golden ratio are spread evenly over the weights (three-distance theorem).
local GOLDEN = 0.6180339887498949
local STEPS = 32 -- turns that are looked at; if none of them fits, most endpoints are out
local LAST = 2 ^ 31

local function next_turn(group)
    local place = (group.place + 1) % LAST
    group.place = place
    if group.sums then
        return at_share(group, place * GOLDEN % 1)
    end
    return place % group.count + 1
end

---@param ask resty.kubelua.gateway.Ask
---@return integer? index nil: all were tried
return function(ask)
    local group = ask.group
    for _ = 1, STEPS do
        local index = next_turn(group)
        if admits(ask, index) and not (ask.slow_ms > 0 and is_early(ask, index, ask.random())) then
            return index
        end
    end
    return usable.any(ask)
end
