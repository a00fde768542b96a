-- The tasks of the loop of one lua_State: coroutines that wait by yielding. This file makes,
-- resumes, suspends and cancels them; scheduler.lua decides when.
local core = require "kubelua.core"
local coroutines = require "kubelua.coroutines"
local here = require "kubelua.fleet.here"
local lines = require "kubelua.log_lines"
local log = require "kubelua.log"
local may_wait = require "kubelua.may_wait"
local nginx = require "kubelua.nginx"
local running = require "kubelua.running"
local scopes = require "kubelua.scope"
local scripts = require "kubelua.script"
local trace = require "kubelua.trace"
local turns = require "kubelua.turns"

local poller = assert(core.poller(running.limit, running.own))
local ready = turns.new() -- tasks that the next round resumes
local current -- the task that runs; nil outside of tasks
local turn -- the task that has its turn in tasks.resume; nil: none

---@class kubelua.Tasks
local tasks = {
    poller = poller,
    ready = ready,
    running = false, -- true inside a round
    failures = 0, -- errors of spawned functions
    -- The clock outside of tasks; scheduler.lua sets the machine's. A task has its own, which the
    -- tasks it makes inherit.
    ---@type kubelua.Clock
    clock = nil,
    is_hosted = false, -- kubelua.host(true): nothing may block outside of tasks
    -- The coroutines in which the main part of a script under test runs, as outside of tasks, each
    -- with the function that leaves it: kubelua.run then returns to the test.
    mains = setmetatable({}, { __mode = "k" }),
}

---A coroutine of the loop.
---@class kubelua.Task
---@field co thread|false false: it has ended
---@field f function|false|nil of tasks.run, whose coroutine serves other tasks later; false: it has
---begun; and its argument
---@field a any
---@field is_run boolean? a run of a controller: a signal gives it time to end
---@field what string its name in messages
---@field clock kubelua.Clock of its timers
---@field is_ready boolean it will be resumed in the next round
---@field next_turn kubelua.Task|false the next task in the queue of turns
---@field is_parked boolean suspended until something wakes it
---@field is_resting boolean parked in tasks.rest, between two calls of the script's functions
---@field has_begun boolean
---@field serves boolean? it calls functions of the script again and again, and rests between them
---@field has_yielded boolean true once the warning about coroutine.yield was logged
---@field is_over boolean it will not be resumed any more
---@field is_cancelled boolean every call that waits raises in it
---@field is_ended boolean the same, but only until the function that it calls has returned
---@field outlasts boolean? the end of a run does not cancel it: it runs no code of the script
---@field is_spawned boolean? it runs a function of kubelua.spawn
---@field ends_by number? it is cancelled, and its program has until then to end
---@field at_end boolean? it runs at the end of a run, after the others: see loop.lua
---@field refusals integer how many calls have raised in it because it is cancelled
---@field activity userdata its name for the watchdog
---@field registration userdata? the registration whose events it handles
---@field no_wait string? the name of a function that it calls now, and that must not wait
---@field doing (fun(): string?)? names what it does now; absent: its `what`, all the time
---@field scope kubelua.Scope? the work that it is a part of
---@field life kubelua.fleet.Life? the cluster of a fleet for which it works
---@field script kubelua.Script? whose it is; nil: KubeLua's own, or scripts are not replaced
---@field tells boolean? see script.lua
---@field on_over fun(ok: boolean, problem: any, task: kubelua.Task)? called once it is over
local Task = {}
Task.__index = Task

-- A cancelled task may catch the error of every call, in an endless loop. After this many errors it
-- is not resumed any more.
local REFUSALS = 1000

---The clock of the running task; outside of tasks, the default clock.
---@return kubelua.Clock
function tasks.clock_here()
    return current and current.clock or tasks.clock
end

---The scope of the task that runs; nil outside of any.
---@return kubelua.Scope?
function tasks.scope_here()
    return current and current.scope
end

scopes.here = tasks.scope_here

function here.life()
    return current and current.life
end

function scripts.here()
    if current then
        return current.script
    end
    return scripts.current
end

tasks.join_scope = scopes.join

---Makes a task one that does not end with the work that it is a part of: KubeLua ends it.
---@param task kubelua.Task
function tasks.leave_scope(task)
    scopes.leave(task)
    if task.life then
        task.life.tasks[task] = nil
    end
end

---Makes a task one of a fleet's cluster: it ends with it, and so do those that it makes.
---@param task kubelua.Task
---@param life kubelua.fleet.Life
function tasks.enter_life(task, life)
    task.life, life.tasks[task] = life, true
end

local function finish_task(task, ok, problem)
    task.is_over = true
    running.remove(task)
    scopes.leave(task)
    if task.on_over then
        task.on_over(ok, problem, task)
    end
    if task.life then
        task.life:remove_task(task)
    end
end

local function warn_of_yield(task)
    if not task.has_yielded then
        task.has_yielded = true
        log("warn", "%s: coroutine.yield() in a handler or spawned function does not wait, it "
            .. "only lets others run; to wait, use kubelua.sleep", task.what)
    end
end

local function report_failure(task, co, problem)
    problem = trace.of(co, problem)
    lines.write("error", task.what .. " failed: " .. problem, {
        msg = task.what .. " failed", error = problem })
end

-- Of a coroutine that is not running. The names are kept here: so to ask allocates nothing.
local IS_DEAD = { suspended = false, dead = true }

-- Resumes the coroutine. True: the task has ended. Up to the return of nginx.resume, and in the
-- lines behind it that are no calls, tasks.abandon can tell what has been done.
local function resume_coroutine(task, co)
    local outer = current
    current = task
    task.is_parked = false
    if task.is_resting then
        task.is_resting = false
    end
    poller:enter(task.activity, co, task.registration)
    task.has_begun = true
    local ok, problem = nginx.resume(co, task.f or nil, task.f and task.a or nil)
    local has_returned = problem == coroutines.RETURNED
    if has_returned then
        task.co = false
    end
    task.f = task.f and false
    poller:leave()
    current = outer
    return has_returned or IS_DEAD[nginx.status(co)], ok, problem
end

---Resumes a task until it waits again, or ends.
---@param task kubelua.Task
function tasks.resume(task)
    task.is_ready, ready.taken, turn = false, false, task
    local co = task.co
    if task.is_over then
        turn = nil
        return -- it was dropped meanwhile
    elseif task.is_cancelled and not task.has_begun then
        finish_task(task, false, trace.CANCELED)
        coroutines.give(task, co)
        turn = nil
        return
    end
    local has_ended, ok, problem = resume_coroutine(task, co)
    if has_ended then
        task.co = false
        finish_task(task, ok, problem)
        if ok then
            coroutines.give(task, co)
        end
    end
    if not ok and problem ~= trace.CANCELED then
        report_failure(task, co, problem)
    elseif not task.is_parked and not has_ended then
        tasks.wake(task)
        warn_of_yield(task)
    end
    turn = nil
end

-- In a run these are set only if it is cancelled, or yields.
Task.is_resting, Task.has_yielded, Task.refusals = false, false, 0

-- The fields that waking and ending a task set are in its table from the start: that must not fail
-- when memory is short. A run has 16 fields: one more would double its table.
local function new_task(what, co, scope)
    local task = setmetatable({ what = what, co = co, is_ready = false, is_parked = false,
        has_begun = false, is_over = false, is_cancelled = false, is_ended = false,
        next_turn = false, clock = tasks.clock_here(), activity = core.activity(what), f = nil,
        a = nil, is_run = nil, scope = nil, on_over = nil }, Task)
    task.script, task.at_end = scripts.here(), current and current.at_end
    scopes.join(task, scope)
    if current and current.life then
        tasks.enter_life(task, current.life)
    end
    running.add(task)
    tasks.wake(task)
    return task
end

---Makes a task; the next round starts it. It is in the scope of the task that makes it.
---@param what string
---@param f function
---@param ... any its arguments
---@return kubelua.Task
function tasks.task(what, f, ...)
    local arguments = { n = select("#", ...), ... }
    local task = new_task(what, nginx.create(function()
        return f((table.unpack or unpack)(arguments, 1, arguments.n))
    end), tasks.scope_here())
    task.is_resting, task.has_yielded, task.refusals = false, false, 0
    return task
end

---Makes the task of a run of a controller, in a scope of its own.
---@param what string
---@param scope kubelua.Scope
---@param f fun(a: any)
---@param a any
---@return kubelua.Task
function tasks.run(what, scope, f, a)
    local task = new_task(what, coroutines.take(), scope)
    task.f, task.a, task.is_run = f, a, true
    return task
end

---Resumes a parked task in the next round; only once, even if it is called several times before. It
---allocates nothing: waking must not fail when memory is short.
---@param task kubelua.Task
function tasks.wake(task)
    if task.is_ready or task.is_over then
        return
    end
    task.is_ready = true
    ready:add(task)
    if not tasks.running then
        poller:wake()
    end
end

---Gives a task that was held its turn again.
---@param task kubelua.Task
function tasks.release(task)
    task.is_ready = false
    tasks.wake(task)
end

---Ends a task without resuming it: what it has on its stack is garbage.
---@param task kubelua.Task
function tasks.drop(task)
    if not task.is_over then
        finish_task(task, false, trace.CANCELED)
    end
end

---Makes a task KubeLua's own: it goes on when the script is replaced.
---@param task kubelua.Task
function tasks.leave_script(task)
    task.script = nil
end

---Cancels the task: the call that it waits in raises trace.CANCELED, and so does every later one. A
---task that has not begun never does.
function Task:cancel()
    self.is_cancelled = true
    if self.is_parked then
        tasks.wake(self)
    end
end

---Raises outside of tasks if the call would block a host; see may_wait.lua.
---@param name string of the call, for the message
function tasks.refuse_host(name)
    may_wait.check_host(tasks, name)
end

---Returns the task that runs; nil outside of tasks. Every call that may wait begins with this. It
---raises where waiting is impossible; see may_wait.lua.
---@param name string of the call, for the message
---@return kubelua.Task?
function tasks.current(name)
    may_wait.check(tasks, current, name)
    return current
end

---Suspends the current task until something wakes it, even if it is cancelled: for waits that end
---by themselves.
function tasks.suspend_anyway()
    current.is_parked = true
    nginx.yield()
end

---Suspends the current task until something wakes it. The caller then cleans up, and calls
---tasks.end_if_cancelled().
---@return boolean is_cancelled
function tasks.suspend()
    local task = current
    if not task.is_cancelled then
        task.is_parked = true
        nginx.yield()
    end
    return task.is_cancelled
end

-- A task that catches the error of cancelling is slowed down, so that others have their turn, and
-- after REFUSALS errors is not resumed any more: there is no other way to end it.
local function limit_refusals(task)
    task.refusals = task.refusals + 1
    if task.refusals == 1 then
        return
    elseif task.refusals > REFUSALS then
        log("warn", "%s was cancelled, but catches that error again and again: it is stopped here "
            .. "for good; let it return after the error", task.what)
        finish_task(task, false, trace.CANCELED)
    end
    tasks.wake(task)
    tasks.suspend_anyway()
end

---Raises in a cancelled task. Returns the scope of the task that runs; nil outside of any.
---@return kubelua.Scope?
function tasks.end_if_cancelled()
    if not current then
        return nil
    elseif current.is_cancelled then
        limit_refusals(current)
        error(trace.CANCELED, 0)
    end
    return current.scope
end

---Suspends the current task until something wakes it. Raises if it is cancelled, or was meanwhile.
function tasks.park()
    tasks.suspend()
    tasks.end_if_cancelled()
end

---The same for a task that serves, such as a ticker, while it has nothing to do. The end of a run
---cancels the function that the task calls; the task itself stays for the next run.
function tasks.rest()
    if current.is_ended then
        current.is_ended, current.is_cancelled = false, false
    end
    if not current.is_cancelled then
        current.is_resting = true
        tasks.suspend_anyway()
    end
    tasks.end_if_cancelled()
end

---The task that runs; nil outside of tasks.
---@return kubelua.Task?
function tasks.task_here()
    return current
end

---Called when a round ended in the middle of a turn because memory was short. A task whose turn had
---not begun, or that does not wait for anything, has a turn in the next round.
function tasks.abandon()
    local untouched, begun = ready.taken, turn
    poller:leave()
    current, turn, ready.taken = nil, nil, false
    if untouched then
        tasks.release(untouched)
    elseif begun and not begun.is_over then
        if not begun.co or IS_DEAD[nginx.status(begun.co)] then
            finish_task(begun, false, "not enough memory")
        elseif not begun.is_parked then
            tasks.wake(begun)
        end
    end
end

return tasks
