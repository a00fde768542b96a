-- cluster:advance and cluster:now: the time of a simulated cluster.
local simcore = require "kubelua.simcore"

local time = {}

---@class kubelua.Sim
local methods = {}

---Moves the cluster's time forward: its timestamps, bookmarks and the ends of watches follow. With
---a fake clock, the timers of scripts started by cluster:run also fire. Timeouts of clients use the
---machine's time.
---@param seconds number
function methods:advance(seconds)
    if type(seconds) ~= "number" or seconds ~= seconds or seconds < 0 then
        error("advance: write a number of seconds from 0: time only goes forward", 2)
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
