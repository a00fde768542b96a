-- The rounds of one lua_State's loop: tasks, timers and sources of events, and what runs in which
-- order. C never calls Lua: events are pulled here. loop.lua decides when a round is due.
local core = require "kubelua.core"
local log = require "kubelua.log"
local misuse = require "kubelua.misuse"
local running = require "kubelua.running"
local sources = require "kubelua.sources"
local timers = require "kubelua.timers"
local trace = require "kubelua.trace"
local turns = require "kubelua.turns"

local scheduler = {
    running = false, -- inside of a round
    failures = 0, -- of functions that the script spawned
}

local poller = assert(core.poller(running.limit, running.own))
local heap = timers.new()
local ready = turns.new() -- tasks to be resumed in the next round
local watches = {} -- conditions that parked tasks wait for
local current -- the task that runs, nil outside of the loop
local ran = 0 -- callbacks that ran so far

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
    return current and current.clock or scheduler.clock
end

---A coroutine of the loop.
---@class kubelua.Task
---@field co thread
---@field what string for messages
---@field clock kubelua.Clock that its timers go by
---@field is_ready boolean? it will be resumed in the next round
---@field next_turn kubelua.Task|false the one that is resumed after it
---@field is_parked boolean? suspended until something wakes it
---@field has_yielded boolean? whether it was told about yielding by itself
---@field activity userdata what the watchdog calls it
---@field registration userdata? whose events it handles
---@field doing (fun(): string?)? what it has begun and not ended; without it, all of its life

local function resume(task)
    local outer = current
    current = task
    task.is_ready, task.is_parked = false, false
    poller:enter(task.activity, task.co, task.registration)
    local ok, message = coroutine.resume(task.co)
    poller:leave()
    current = outer
    if coroutine.status(task.co) == "dead" then
        running.remove(task)
    end
    if not ok then
        log("error", "%s failed: %s", task.what, trace.of(task.co, message))
    elseif not task.is_parked and coroutine.status(task.co) == "suspended" then
        local is_new = not task.has_yielded
        task.has_yielded = true
        scheduler.wake(task)
        if is_new then
            log("warn", "%s: coroutine.yield() in a handler or spawned function only lets others "
                .. "have their turn; to wait, use kubelua.sleep", task.what)
        end
    end
end

---Makes a task, which the next round starts.
---@param what string
---@param f function
---@param ... any its arguments
---@return kubelua.Task
function scheduler.task(what, f, ...)
    local arguments = { n = select("#", ...), ... }
    local task = { what = what, co = false, is_ready = false, is_parked = false,
        has_yielded = false, next_turn = false, clock = scheduler.clock_here(),
        activity = core.activity(what) }
    task.co = coroutine.create(function()
        return f((table.unpack or unpack)(arguments, 1, arguments.n))
    end)
    running.add(task)
    scheduler.wake(task)
    return task
end

---Has a parked task go on in the next round; once, however often it is called before. It makes
---nothing: whoever wakes a task must not fail for want of memory.
---@param task kubelua.Task
function scheduler.wake(task)
    if task.is_ready then
        return
    end
    task.is_ready = true
    ready:add(task)
    if not scheduler.running then
        poller:wake()
    end
end

---The task that runs, if this is one: whether a call may wait by yielding. Raises inside a
---coroutine that a handler made by itself: it would have to wait with the loop inside the loop;
---and where no yield is possible: it would leave behind what wakes the task later.
---@param name string of the call, for the message
---@return kubelua.Task?
function scheduler.current(name)
    if current and coroutine.running() ~= current.co then
        misuse(name .. " inside a coroutine of your own; use kubelua.spawn for one that can wait")
    end
    if current and not coroutine.isyieldable() then -- luacheck: ignore 143
        misuse(name .. " inside a function that C called, such as one for table.sort or "
            .. "string.gsub, which cannot wait")
    end
    if not current and scheduler.running then
        misuse(name .. " inside of the loop, but outside of a handler")
    end
    return current
end

---Suspends the current task until something wakes it.
function scheduler.park()
    current.is_parked = true
    coroutine.yield()
end

---Suspends the current task until a round finds that `condition()` is true, or something wakes it.
---Whatever makes it true also wakes the poller.
---@param condition fun(): boolean
function scheduler.park_for(condition)
    local watch = { task = current, condition = condition }
    watches[#watches + 1] = watch
    scheduler.park()
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

---Counts a callback that ran, for step().
function scheduler.count()
    ran = ran + 1
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

-- Taking the last source also takes back the poller's wake-ups. What they were for is looked at
-- after that, and before anybody waits: by the watches, and by `is_over` in a round.
local function work()
    fire_timers()
    sources.pull(poller)
    look_at_watches()
    ready:take(resume)
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
    local ok, result = pcall(round, deadline, is_over)
    scheduler.running = false
    arm()
    if not ready:is_empty() then
        poller:wake()
    end
    if not ok then
        poller:leave()
        current = nil
        error(result, 0)
    end
    return result
end

scheduler.poller = poller

return scheduler
