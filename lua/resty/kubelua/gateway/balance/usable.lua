-- Which endpoints of a group a request may use: not those that it has tried, nor those that are out
-- (they failed too often), unless there is no other. Pure.
local usable = {}

---What a balancer is asked for; one table a worker, filled anew for each pick.
---@class resty.kubelua.gateway.Ask
---@field group resty.kubelua.gateway.Group
---@field load resty.kubelua.gateway.Load
---@field settings resty.kubelua.gateway.BalanceSettings
---@field random fun(): number
---@field now number milliseconds
---@field max_fails integer
---@field out_ms number how long an endpoint that failed is out
---@field slow_ms number how long an endpoint counts as new
---@field tried string[]? "host:port" of each endpoint that was tried
---@field vars table<string, string>? the variables of the request

local function is_tried(ask, index)
    local tried = ask.tried
    if tried then
        local name = ask.group.names[index]
        for i = 1, #tried do
            if tried[i] == name then
                return true
            end
        end
    end
    return false
end

local function is_out(ask, index)
    return ask.max_fails > 0
        and ask.load.is_out(ask.group.rows[index], ask.max_fails, ask.out_ms, ask.now)
end

---True if the request may use this endpoint.
---@param ask resty.kubelua.gateway.Ask
---@param index integer
---@return boolean
function usable.admits(ask, index)
    return not is_tried(ask, index) and not is_out(ask, index)
end

---Any endpoint, if those that a balancer would choose are not to be had: one that is not out, else
---one that is. Looks at all.
---@param ask resty.kubelua.gateway.Ask
---@return integer? index nil: all were tried
function usable.any(ask)
    local count, found = ask.group.count, nil
    local first = ask.random() * count
    first = first - first % 1
    for i = 0, count - 1 do
        local index = (first + i) % count + 1
        if not is_tried(ask, index) then
            if not is_out(ask, index) then
                return index
            end
            found = found or index
        end
    end
    return found
end

-- A new endpoint gets a part of what it would get, which grows from the first to the last number.
local LEAST, MOST = 0.1, 0.75

---True if an endpoint is so new that it should not have this request.
---@param ask resty.kubelua.gateway.Ask
---@param index integer
---@param chance number at least 0, less than 1: of this request
---@return boolean
function usable.is_early(ask, index, chance)
    local slow_ms = ask.slow_ms
    if slow_ms <= 0 then
        return false
    end
    local age = ask.load.age(ask.group.rows[index], ask.now)
    return age >= 0 and age < slow_ms and chance >= LEAST + (MOST - LEAST) * age / slow_ms
end

return usable
