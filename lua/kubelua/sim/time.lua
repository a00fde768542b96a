-- The time of a simulated cluster, and waiting for what happens in it.
local core = require "kubelua.core"
local loop = require "kubelua.loop"

local time = {}

local PAUSE = 0.005

-- Days from 1970-01-01 to a day of the Gregorian calendar.
local function days(year, month, day)
    year = month <= 2 and year - 1 or year
    local era = math.floor(year / 400)
    local of_era = year - era * 400
    local of_year = math.floor((153 * (month + (month > 2 and -3 or 9)) + 2) / 5) + day - 1
    return era * 146097 + of_era * 365 + math.floor(of_era / 4) - math.floor(of_era / 100)
        + of_year - 719468
end

---Unix time of a text such as "2026-01-01T00:00:00Z"; nil if it is none.
---@param text string
---@return number?
function time.parse(text)
    local year, month, day, hour, minute, second, fraction =
        text:match("^(%d%d%d%d)-(%d%d)-(%d%d)T(%d%d):(%d%d):(%d%d)(%.?%d*)Z$")
    if not year then
        return nil
    end
    return days(tonumber(year), tonumber(month), tonumber(day)) * 86400 + hour * 3600
        + minute * 60 + second + (tonumber("0" .. fraction) or 0)
end

local methods = {}

---Moves the cluster's time on: timestamps, bookmarks, ends of watches and what else it does after
---a while follow; of a fake clock, the timers of scripts that cluster:run started as well, which
---run meanwhile. What clients wait for is of the machine's time.
---@param seconds number
function methods:advance(seconds)
    if type(seconds) ~= "number" or seconds ~= seconds or seconds < 0 then
        error("advance: how many seconds? Time goes forward only", 2)
    end
    local ok, message = (self.clock.stands and self.clock or self.box):advance(seconds)
    if not ok then
        error("advance: " .. message, 2)
    end
end

---The cluster's Unix time in seconds.
---@return number
function methods:now()
    return self.box:now()
end

---Waits until `condition()` returns something true, and dispatches meanwhile; returns that.
---@param condition fun(): any
---@param seconds number? of real time; default 10
---@return any, string?, string? the value, or nil, message, "timeout"
function methods.eventually(_, condition, seconds)
    if type(condition) ~= "function" then
        error("eventually: a function expected, not a " .. type(condition), 2)
    end
    local till = core.now() + (seconds or 10)
    local value = condition()
    while not value do
        if core.now() >= till then
            return nil, "not after " .. (seconds or 10) .. " s", "timeout"
        end
        loop.sleep(PAUSE)
        value = condition()
    end
    return value
end

---Waits until `condition(object)` returns something true; the object is nil while there is none.
---@param kind string
---@param key string "namespace/name", or "name"
---@param condition (fun(object: kubelua.Object?): any)? default: it is there
---@param seconds number? of real time; default 10
---@return any, string?, string? the object (true if it is gone), or nil, message, "timeout"
function methods:wait(kind, key, condition, seconds)
    local last
    local value, message, code = self:eventually(function()
        local problem, problem_code
        last, problem, problem_code = self:get(kind, key)
        if not last and problem_code ~= "not_found" then
            error("wait: " .. tostring(problem), 0)
        end
        if not condition then
            return last
        end
        return condition(last) and (last or true)
    end, seconds)
    if value then
        return value
    end
    return nil, kind .. " " .. key .. ": " .. message .. (last
        and "; its status is " .. core.encode(last.status or {})
        or "; it is not there"), code
end

time.methods = methods

return time
