-- The time of a simulated cluster.
local simcore = require "kubelua.simcore"

local time = {}

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
    local clock = simcore.state(self).clock
    local ok, message
    if clock.stands then
        ok, message = clock:advance(seconds)
    else
        ok, message = simcore.advance(self, seconds)
    end
    if not ok then
        error("advance: " .. message, 2)
    end
end

---The cluster's Unix time in seconds.
---@return number
function methods:now()
    return simcore.now(self)
end

time.methods = methods

return time
