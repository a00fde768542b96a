-- The time that a script under test keeps: its cluster's, and no longer than that. What runs, or
-- what stands until it is moved.
local Flight = require "kubelua.flight"
local core = require "kubelua.core"
local scheduler = require "kubelua.scheduler"
local simcore = require "kubelua.simcore"
local timers = require "kubelua.timers"

---What the timers of tasks go by; scheduler.machine is another one.
---@class kubelua.Clock
---@field now fun(self): number seconds since some moment
---@field unix fun(self): number Unix time
---@field at fun(self, at: number, fire: fun()): kubelua.Timer calls `fire` once, at that time
---@field stands boolean? until it is told to advance
---@field cluster kubelua.Sim? of a script under test: where its kubelua.connect leads

-- One that runs as the machine's.
---@class kubelua.sim.RunningClock: kubelua.Clock
local Running = {}
Running.__index = Running

-- One that stands.
---@class kubelua.sim.FakeClock: kubelua.Clock
local Fake = { stands = true }
Fake.__index = Fake

-- Rounds in which woken tasks come to rest, before the clock moves on without them.
local ROUNDS = 1000

-- Seconds of real time in which requests are answered, unless a fault holds them back.
local PATIENCE = 0.25

local Clock = {}

---@param sim kubelua.Sim
---@return kubelua.sim.RunningClock
function Clock.running(sim)
    return setmetatable({ sim = sim, timers = setmetatable({}, { __mode = "k" }) }, Running)
end

---@param sim kubelua.Sim which moves along
---@return kubelua.sim.FakeClock
function Clock.fake(sim)
    return setmetatable({ sim = sim, time = 0, heap = timers.new() }, Fake)
end

function Running:now()
    return scheduler.machine:now()
end

function Running:unix()
    return simcore.now(self.sim)
end

function Running:at(at, fire)
    if self.is_over then
        return { at = at, fire = fire, cancelled = true }
    end
    local timer = scheduler.at(at, fire)
    self.timers[timer] = true
    return timer
end

---No timer of it fires any more.
function Running:close()
    self.is_over = true
    for timer in pairs(self.timers) do
        timer.cancelled = true
    end
end

function Fake:now()
    return self.time
end

function Fake:unix()
    return simcore.now(self.sim)
end

function Fake:at(at, fire)
    if at <= self.time and not self.is_over then
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
    local ok, message = simcore.advance(self.sim, step / 1000)
    if not ok then
        return nil, message
    end
    self.time = time
    return true
end

local function run_ready()
    local rounds = 0
    while scheduler.has_ready() and rounds < ROUNDS do
        scheduler.round(0)
        rounds = rounds + 1
    end
end

-- What runs because of a timer may set the next one, which is due on the same way. Requests take
-- none of the clock's time: their answers are waited for, once.
local function settle()
    if scheduler.running then
        return
    end
    run_ready()
    local till = core.now() + PATIENCE
    while Flight.are_pending() and core.now() < till do
        if scheduler.round(till, scheduler.has_ready) > 0 or scheduler.has_ready() then
            till = core.now() + PATIENCE
        end
        run_ready()
    end
    Flight.forget_pending()
end

---Moves it, and the cluster, from timer to timer; what these wake runs in its own time.
---@param seconds number
---@return true?, string?
function Fake:advance(seconds)
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

function Fake:close()
    self.is_over = true
    self.heap = timers.new()
end

return Clock
