-- The better one of two random endpoints. It costs the same for any number of endpoints, and no
-- endpoint gets more than twice its share, however good it looks: an endpoint is one of the two in
-- 2 of N picks. One that is new loses some of them to the other one. Pure.
local groups = require "resty.kubelua.gateway.balance.group"
local usable = require "resty.kubelua.gateway.balance.usable"

local admits, is_early, draw = usable.admits, usable.is_early, groups.draw

local DRAWS = 8 -- if none of so many can be used, all endpoints are looked at

local function draw_first(ask)
    for _ = 1, DRAWS do
        local index = draw(ask.group, ask.random())
        if admits(ask, index) then
            return index
        end
    end
    return usable.any(ask)
end

-- Another endpoint than the first one, each with the same chance, or by weights; nil: none of those
-- drawn can be used.
local function draw_second(ask, first)
    local group = ask.group
    local count = group.count
    for _ = 1, DRAWS do
        local index
        if group.weights and count > 2 then
            index = draw(group, ask.random())
        else
            local step = ask.random() * (count - 1)
            step = step - step % 1
            index = (first + step) % count + 1
        end
        if index ~= first and admits(ask, index) then
            return index
        end
    end
    return nil
end

---@param ask resty.kubelua.gateway.Ask
---@param cost fun(ask: resty.kubelua.gateway.Ask, index: integer): number the lower one is chosen
---@return integer? index nil: all were tried
return function(ask, cost)
    local first = draw_first(ask)
    local second = first and ask.group.count > 1 and draw_second(ask, first)
    if not second then
        return first
    end
    if cost(ask, second) < cost(ask, first) then
        first, second = second, first
    end
    if is_early(ask, first, ask.random()) and not is_early(ask, second, ask.random()) then
        return second
    end
    return first
end
