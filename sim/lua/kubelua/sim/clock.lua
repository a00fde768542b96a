-- The clock of a script under test: the time of its cluster. Either it runs, or it stands until the
-- test moves it. After the cluster is closed, no timer of the clock fires.
local requests = require "kubelua.requests"
local core = require "kubelua.core"
local tasks = require "kubelua.tasks"
local scheduler = require "kubelua.scheduler"
local simcore = require "kubelua.simcore"
local timers = require "kubelua.timers"

---A clock for the timers of tasks. scheduler.machine is another one.
---@class kubelua.Clock
---@field now fun(self): number seconds since some fixed time
---@field unix fun(self): number Unix time
---@field at fun(self, at: number, fire: fun()): kubelua.Timer calls `fire` once, at that time
---@field stands boolean? true: it stands until the test moves it
---@field pass (fun(self, seconds: number))? moves one that stands, for a sleep outside of tasks
---@field cluster kubelua.Sim? the cluster that a script under test connects to

-- A clock that runs like the machine's.
---@class kubelua.sim.RunningClock: kubelua.Clock
local Running = {}
Running.__index = Running

-- A clock that stands.
---@class kubelua.sim.FakeClock: kubelua.Clock
local Fake = { stands = true }
Fake.__index = Fake

-- At most this many rounds run for woken tasks before the clock moves on.
local ROUNDS = 1000

-- Seconds of real time in which requests are answered, unless a fault delays them.
local PATIENCE = 0.25

local Clock = {}

---@param sim kubelua.Sim
---@return kubelua.sim.RunningClock
function Clock.running(sim)
    return setmetatable({ sim = sim, timers = setmetatable({}, { __mode = "k" }) }, Running)
end

---@param sim kubelua.Sim its time moves with the clock
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

---No timer of this clock fires any more.
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

-- The cluster counts whole milliseconds. Each time is rounded, not each step, so errors do not add
-- up.
local function to_milliseconds(seconds)
    return math.floor(seconds * 1000 + 0.5)
end

local function move_to(self, time)
    local step = to_milliseconds(time) - to_milliseconds(self.time)
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

-- Runs what woken tasks do; they may set timers that are due before the target. Requests take no
-- time on this clock: their answers are awaited here, for PATIENCE seconds.
local function settle_tasks()
    if tasks.running then
        return
    end
    run_ready()
    local till = core.now() + PATIENCE
    while requests.are_pending() and core.now() < till do
        if scheduler.round(till, scheduler.has_ready) > 0 or scheduler.has_ready() then
            till = core.now() + PATIENCE
        end
        run_ready()
    end
    requests.forget_pending()
end

---Moves the clock and the cluster from timer to timer. Tasks that a timer wakes run at the time of
---that timer.
---@param seconds number
---@return true?, string?
function Fake:advance(seconds)
    local target = self.time + seconds
    settle_tasks()
    local first = self.heap:first()
    while first and first.at <= target do
        local ok, message = move_to(self, math.max(first.at, self.time))
        if not ok then
            return nil, message
        end
        self.heap:due(self.time).fire()
        settle_tasks()
        first = self.heap:first()
    end
    return move_to(self, target)
end

function Fake:close()
    self.is_over = true
    self.heap = timers.new()
end

return Clock
