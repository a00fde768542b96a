-- A clock that stands until it is moved: what the timers of a script under test go by.
local scheduler = require "kubelua.scheduler"
local timers = require "kubelua.timers"

---Has what kubelua.sleep and kubelua.every need, as scheduler.machine has.
---@class kubelua.Clock
---@field stands true
local Clock = { stands = true }
Clock.__index = Clock

-- Rounds in which woken tasks come to rest, before the clock moves on without them.
local ROUNDS = 1000

---@param box userdata the cluster that moves along with it
---@return kubelua.Clock
function Clock.new(box)
    return setmetatable({ box = box, time = 0, heap = timers.new() }, Clock)
end

---Seconds since it began.
---@return number
function Clock:now()
    return self.time
end

---Unix time.
---@return number
function Clock:unix()
    return self.box:now()
end

---Calls `fire` once, when it has been moved that far; now if it has already.
---@param at number
---@param fire fun()
---@return kubelua.Timer
function Clock:at(at, fire)
    if at <= self.time then
        return scheduler.at(0, fire)
    end
    return self.heap:add(at, fire)
end

-- The cluster counts whole milliseconds: what is rounded once must not be rounded at every step.
local function milliseconds(seconds)
    return math.floor(seconds * 1000 + 0.5)
end

local function move(self, time)
    local step = milliseconds(time) - milliseconds(self.time)
    local ok, message = self.box:advance(step / 1000)
    if not ok then
        return nil, message
    end
    self.time = time
    return true
end

-- What runs because of a timer may set the next one, which is due on the same way.
local function settle()
    local rounds = 0
    while scheduler.has_ready() and not scheduler.running and rounds < ROUNDS do
        scheduler.round(0)
        rounds = rounds + 1
    end
end

---Moves it, and the cluster, from timer to timer; what these wake runs in its own time.
---@param seconds number
---@return true?, string?
function Clock:advance(seconds)
    local target = self.time + seconds
    settle()
    local first = self.heap:first()
    while first and first.at <= target do
        local ok, message = move(self, math.max(first.at, self.time))
        if not ok then
            return nil, message
        end
        self.heap:due(self.time).fire()
        settle()
        first = self.heap:first()
    end
    return move(self, target)
end

return Clock
