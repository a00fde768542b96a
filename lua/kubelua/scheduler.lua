-- The rounds of one lua_State's loop: tasks, timers and sources of events, and what runs in which
-- order. C never calls Lua: events are pulled here. loop.lua decides when a round is due, and
-- tasks.lua has the tasks: this completes its table.
local core = require "kubelua.core"
local nginx = require "kubelua.nginx"
local scheduler = require "kubelua.tasks"
local sources = require "kubelua.sources"
local timers = require "kubelua.timers"
local turns = require "kubelua.turns"

local poller, ready = scheduler.poller, scheduler.ready
local heap = timers.new()
local watches = {} -- conditions that parked tasks wait for
local ran = 0 -- callbacks that ran so far
local is_ending = false -- only what ends has its turn
local is_unused = false -- the queue of events, as no client is left
local held = turns.new() -- tasks that have their turn once that is over

-- The machine's time, for all that is not told to keep another (sim/clock.lua).
---@type kubelua.Clock
scheduler.machine = {
    now = function() return core.now() end,
    unix = function() return core.unix() end,
    at = function(_, at, fire) return scheduler.at(at, fire) end,
}

-- What is begun outside of the loop keeps this time; what a task begins, the task's.
scheduler.clock = scheduler.machine

---The clock of whoever asks.
---@return kubelua.Clock
function scheduler.clock_here()
    local task = scheduler.task_here()
    return task and task.clock or scheduler.clock
end

---As suspend, but also until a round finds that `condition()` is true. Whatever makes it true also
---wakes the poller.
---@param condition fun(): boolean
function scheduler.suspend_for(condition)
    local watch = { task = scheduler.task_here(), condition = condition }
    watches[#watches + 1] = watch
    scheduler.suspend()
    watch.is_over = true
end

local function arm()
    local first = heap:first()
    poller:arm(first and first.at or nil)
end

---Calls `fire` once, at that time, in a round of the loop. `fire` must not wait.
---@param at number
---@param fire fun()
---@return kubelua.Timer
function scheduler.at(at, fire)
    local timer = heap:add(at, fire)
    if not scheduler.running then
        arm()
    end
    return timer
end

---Raises where a wait that may last for ever would block nginx's worker: outside of tasks.
---@param name string of the call
---@param seconds number? that it may last
function scheduler.check_bound(name, seconds)
    if not scheduler.task_here() then
        nginx.refuse_endless(name, seconds)
    end
end

---See Task:cancel.
---@param task kubelua.Task
function scheduler.cancel(task)
    task:cancel()
end

---Counts a callback that ran, for step().
function scheduler.count()
    ran = ran + 1
end

local function end_queue()
    if is_unused and scheduler.is_idle() then
        is_unused = false
        poller:shut_unused()
    end
end

---Has the queue of events end, as no client is left, once nothing else needs it. The next need
---makes another.
function scheduler.release_queue()
    is_unused = true
    if not scheduler.running then
        end_queue()
    end
end

---Keeps the queue of events: a client is there.
function scheduler.keep_queue()
    is_unused = false
end

local function fire_timers()
    local now = core.now()
    local timer = heap:due(now)
    while timer do
        timer.fire()
        timer = heap:due(now)
    end
end

local function look_at_watches()
    local left = {}
    for _, watch in ipairs(watches) do
        if not watch.is_over then
            left[#left + 1] = watch
            if watch.condition() then
                scheduler.wake(watch.task)
            end
        end
    end
    watches = left
end

local function resume_or_hold(task)
    if task.at_end or task.is_cancelled then
        scheduler.resume(task)
    else
        held:add(task)
    end
end

---From now on a task has its turn only if it is cancelled, or was made to run at the end.
function scheduler.begin_end()
    is_ending = true
end

---All have their turn again.
function scheduler.finish_end()
    is_ending = false
    held:take(function(task)
        ready:add(task)
    end)
end

-- Taking the last source also takes back the poller's wake-ups. What they were for is looked at
-- after that, and before anybody waits: by the watches, and by `is_over` in a round.
local function work()
    fire_timers()
    sources.pull(poller)
    look_at_watches()
    ready:take(is_ending and resume_or_hold or scheduler.resume)
end

---Whether a task waits for its turn.
---@return boolean
function scheduler.has_ready()
    return not ready:is_empty()
end

---Whether nothing is left for whose sake to go on: no handlers, timer, task, or wait of one.
---@return boolean
function scheduler.is_idle()
    return not sources.keep_going() and ready:is_empty() and #watches == 0 and heap:first() == nil
end

local function round(deadline, is_over)
    local before = ran
    work()
    if ran == before and ready:is_empty() and not (is_over and is_over()) then
        local first = heap:first()
        local till = first and math.min(first.at, deadline) or deadline
        local seconds = till < math.huge and math.max(0, till - core.now()) or nil
        if poller:wait(seconds) or first then
            work()
        end
    end
    return ran - before
end

---One round: what is pending, else a wait until `deadline` and what it brought. Returns how many
---callbacks ran.
---@param deadline number on the clock of kubelua.core.now; math.huge: none
---@param is_over (fun(): boolean)? when there is nothing to wait for any more
---@return integer
function scheduler.round(deadline, is_over)
    scheduler.running = true
    local ok, result = nginx.pcall(round, deadline, is_over)
    scheduler.running = false
    arm()
    end_queue()
    if not ready:is_empty() then
        poller:wake()
    end
    if not ok then
        scheduler.abandon()
        error(result, 0)
    end
    return result
end

return scheduler
