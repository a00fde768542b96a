-- The rounds of the loop of one lua_State. A round fires timers, pulls events, looks at conditions,
-- and resumes tasks. C never calls Lua: events are pulled here. loop.lua decides when a round runs.
-- The tasks themselves are in tasks.lua.
local core = require "kubelua.core"
local nginx = require "kubelua.nginx"
local scripts = require "kubelua.script"
local sources = require "kubelua.sources"
local tasks = require "kubelua.tasks"
local timers = require "kubelua.timers"
local turns = require "kubelua.turns"

local scheduler = {}

local poller, ready = tasks.poller, tasks.ready
local heap = timers.new()
local watches = {} -- conditions that suspended tasks wait for
local ran = 0 -- how many callbacks have run
local is_ending = false -- the run is ending: other tasks have no turn
local runs_hooks = false -- in that end, tasks that outlast it have no turn either
local is_unused = false -- no client is left, so the event queue is not needed
local held = turns.new() -- tasks without a turn while the run is ending

-- The machine's clock. A task of a simulated cluster may have another one; see
-- sim/lua/kubelua/sim/clock.lua.
---@type kubelua.Clock
scheduler.machine = {
    now = function() return core.now() end,
    unix = function() return core.unix() end,
    at = function(_, at, fire) return scheduler.at(at, fire) end,
}

tasks.clock = scheduler.machine

---Like suspend, but a round also wakes the task when `condition()` is true. An event that makes it
---true must wake the poller.
---@param condition fun(): boolean
function scheduler.suspend_for(condition)
    local watch = { task = tasks.task_here(), condition = condition }
    watches[#watches + 1] = watch
    tasks.suspend()
    watch.is_over = true
end

---For a call that had nothing to wait for: lets the other tasks have their turn, so that a script
---that calls it in a loop does not stop them. Raises in a cancelled task.
---@param name string of the call
function scheduler.pass(name)
    local task = tasks.current(name)
    if task then
        tasks.wake(task)
        tasks.suspend_anyway()
        tasks.end_if_cancelled()
    end
end

local function arm_poller()
    local first = heap:first()
    poller:arm(first and first.at or nil)
end

---Calls `fire` once, at that time, in a round of the loop. `fire` must not wait.
---@param at number
---@param fire fun()
---@return kubelua.Timer
function scheduler.at(at, fire)
    local timer = heap:add(at, fire)
    if not tasks.running then
        arm_poller()
    end
    return timer
end

---Outside of tasks, raises inside nginx if a call has no time limit: it could block the worker for
---ever.
---@param name string of the call
---@param seconds number? its time limit
function scheduler.check_bound(name, seconds)
    if not tasks.task_here() then
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

local function close_unused_queue()
    if is_unused and scheduler.is_idle() then
        is_unused = false
        poller:shut_unused()
    end
end

---No client is left: closes the event queue, once nothing else needs it. It opens again by itself.
function scheduler.release_queue()
    is_unused = true
    if not tasks.running then
        close_unused_queue()
    end
end

---A client exists: keeps the event queue.
function scheduler.keep_queue()
    is_unused = false
end

local firing -- the timer whose function is called; nil: none

local function fire_timers()
    local now = core.now()
    firing = heap:due(now)
    while firing do
        firing.fire()
        firing = heap:due(now)
    end
end

-- Without memory for its call, a timer fires in the next round.
local function keep_timer(problem)
    local timer = firing
    firing = nil
    if timer and problem == "not enough memory" then
        heap:put(timer)
    end
end

local function look_at_watches()
    local left = {}
    for _, watch in ipairs(watches) do
        if not watch.is_over then
            left[#left + 1] = watch
            if watch.condition() then
                tasks.wake(watch.task)
            end
        end
    end
    watches = left
end

local function resume_unless_held(task)
    if not scripts.hold(task) then
        tasks.resume(task)
    end
end

local function resume_or_hold(task)
    if task.at_end or task.is_cancelled or (task.outlasts and not runs_hooks) then
        tasks.resume(task)
    else
        held:add(task)
    end
end

---From now on a task has its turn only if it is cancelled, or runs no code of the script: a Lease
---is renewed while programs end.
function scheduler.begin_end()
    is_ending, runs_hooks = true, false
end

---From now on a task has its turn only if it is cancelled, or was made for the end of the run.
function scheduler.begin_hooks()
    runs_hooks = true
end

---From now on every task has its turn again.
function scheduler.finish_end()
    is_ending = false
    held:take(function(task)
        ready:add(task)
    end)
end

-- Taking the last source also resets the poller's wake-up. So conditions are checked after that,
-- and before the next wait: those of `watches` here, and `is_over` in run_round.
local function handle_pending()
    fire_timers()
    sources.pull(poller)
    look_at_watches()
    ready:take(is_ending and resume_or_hold or scripts.current and resume_unless_held
        or tasks.resume)
end

---Forgets timers that were cancelled: what they refer to is garbage.
function scheduler.drop_cancelled()
    heap:drop_cancelled()
end

---True if a task waits for its turn.
---@return boolean
function scheduler.has_ready()
    return not ready:is_empty()
end

---True if nothing is left to wait for: no handler, no timer, no task that is ready, no condition.
---@return boolean
function scheduler.is_idle()
    return not sources.keep_going() and ready:is_empty() and #watches == 0 and heap:first() == nil
end

local function run_round(deadline, is_over)
    local before = ran
    handle_pending()
    if ran == before and ready:is_empty() and not (is_over and is_over()) then
        local first = heap:first()
        local till = first and math.min(first.at, deadline) or deadline
        local seconds = till < math.huge and math.max(0, till - core.now()) or nil
        if poller:wait(seconds) or first then
            handle_pending()
        end
    end
    return ran - before
end

---One round: handles what is pending; if there is nothing, waits until `deadline`, and handles what
---came. Returns how many callbacks ran.
---@param deadline number on the clock of kubelua.core.now; math.huge: none
---@param is_over (fun(): boolean)? true: there is nothing to wait for any more
---@return integer
function scheduler.round(deadline, is_over)
    tasks.running = true
    local ok, result = nginx.pcall(run_round, deadline, is_over)
    tasks.running = false
    if not ok then -- first: the calls below may have no memory, either
        keep_timer(result)
        tasks.abandon()
    end
    arm_poller()
    close_unused_queue()
    if not ready:is_empty() then
        poller:wake()
    end
    if not ok then
        error(result, 0)
    end
    return result
end

return scheduler
