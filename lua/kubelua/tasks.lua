-- The tasks of the loop of one lua_State: coroutines that wait by yielding. What wakes them, and
-- when they are resumed, is in scheduler.lua, which completes this table.
local core = require "kubelua.core"
local log = require "kubelua.log"
local misuse = require "kubelua.misuse"
local nginx = require "kubelua.nginx"
local running = require "kubelua.running"
local scopes = require "kubelua.scope"
local trace = require "kubelua.trace"
local turns = require "kubelua.turns"

local poller = assert(core.poller(running.limit, running.own))
local ready = turns.new() -- tasks to be resumed in the next round
local current -- the task that runs, nil outside of the loop

---@class kubelua.Scheduler
local tasks = {
    poller = poller,
    ready = ready,
    running = false, -- inside of a round
    failures = 0, -- of functions that the script spawned
}

---A coroutine of the loop.
---@class kubelua.Task
---@field co thread
---@field what string for messages
---@field clock kubelua.Clock that its timers go by
---@field is_ready boolean it will be resumed in the next round
---@field next_turn kubelua.Task|false the one that is resumed after it
---@field is_parked boolean suspended until something wakes it
---@field is_resting boolean the same, of one that serves: nothing of the script waits in it
---@field has_begun boolean
---@field serves boolean? it calls functions of the script again and again, and rests between them
---@field has_yielded boolean whether it was told about yielding by itself
---@field is_over boolean it will not be resumed any more
---@field is_cancelled boolean every call that waits raises in it
---@field is_ended boolean the same, but only until the function that it calls has returned
---@field outlasts boolean? the end of a run leaves it as it is: nothing of the script waits in it
---@field at_end boolean? it runs while all others end: see ending.lua
---@field refusals integer how many calls that wait have raised in it
---@field activity userdata what the watchdog calls it
---@field registration userdata? whose events it handles
---@field no_wait string? what it calls that must not wait
---@field doing (fun(): string?)? what it has begun and not ended; without it, all of its life
---@field scope kubelua.Scope? what it is a part of
---@field on_over fun(ok: boolean, problem: any)? called once it is over
local Task = {}
Task.__index = Task

-- After so many calls that raised because a task is cancelled, it is left where it is: it catches
-- them all, in a loop that would not end.
local REFUSALS = 1000

---The scope of the task that runs; nil outside of any.
---@return kubelua.Scope?
function tasks.scope_here()
    return current and current.scope
end

tasks.join_scope = scopes.join
tasks.leave_scope = scopes.leave

local function finish(task, ok, problem)
    task.is_over = true
    running.remove(task)
    scopes.leave(task)
    if task.on_over then
        task.on_over(ok, problem)
    end
end

local function warn_of_yield(task)
    if not task.has_yielded then
        task.has_yielded = true
        log("warn", "%s: coroutine.yield() in a handler or spawned function only lets others "
            .. "have their turn; to wait, use kubelua.sleep", task.what)
    end
end

---Has a task go on until it waits again, or ends.
---@param task kubelua.Task
function tasks.resume(task)
    task.is_ready = false
    if task.is_cancelled and not task.has_begun then
        return finish(task, false, trace.CANCELED)
    end
    local outer = current
    current = task
    task.has_begun, task.is_parked, task.is_resting = true, false, false
    poller:enter(task.activity, task.co, task.registration)
    local ok, problem = nginx.resume(task.co)
    poller:leave()
    current = outer
    local status = nginx.status(task.co) -- no new text: both are constants of this function
    if status == "dead" then
        finish(task, ok, problem)
    end
    if not ok and problem ~= trace.CANCELED then
        log("error", "%s failed: %s", task.what, trace.of(task.co, problem))
    elseif not task.is_parked and status == "suspended" then
        tasks.wake(task)
        warn_of_yield(task)
    end
end

---Makes a task, which the next round starts. It is in the scope of the task that makes it.
---@param what string
---@param f function
---@param ... any its arguments
---@return kubelua.Task
function tasks.task(what, f, ...)
    local arguments = { n = select("#", ...), ... }
    local task = setmetatable({ what = what, co = false, is_ready = false, is_parked = false,
        is_resting = false, has_begun = false, has_yielded = false, is_over = false,
        is_cancelled = false, is_ended = false, refusals = 0, next_turn = false,
        clock = tasks.clock_here(), activity = core.activity(what),
        at_end = current and current.at_end }, Task)
    task.co = nginx.create(function()
        return f((table.unpack or unpack)(arguments, 1, arguments.n))
    end)
    scopes.join(task, tasks.scope_here())
    running.add(task)
    tasks.wake(task)
    return task
end

---Has a parked task go on in the next round; once, however often it is called before. It makes
---nothing: a caller must not fail for want of memory.
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

---Has the call that the task waits in raise trace.CANCELED, and every later one. One that has not
---begun never does.
function Task:cancel()
    self.is_cancelled = true
    if self.is_parked then
        tasks.wake(self)
    end
end

---The task that runs, if this is one: whether a call may wait by yielding. Raises inside a
---coroutine that a handler made by itself: it would have to wait with the loop inside the loop;
---and where no yield is possible: it would leave behind what wakes the task later. Outside of tasks
---it raises where nginx's worker would be blocked.
---@param name string of the call, for the message
---@return kubelua.Task?
function tasks.current(name)
    if current and coroutine.running() ~= current.co then
        misuse(name .. " inside a coroutine of your own; use kubelua.spawn for one that can wait")
    end
    if current and not core.is_yieldable() then
        misuse(name .. " inside a function that C called, such as one for table.sort or "
            .. "string.gsub, which cannot wait")
    end
    if current and current.no_wait then
        misuse("%s inside %s, which must not wait", name, current.no_wait)
    elseif not current and tasks.running then
        misuse(name .. " inside of the loop, but outside of a handler")
    elseif not current then
        nginx.refuse_wait(name)
    end
    return current
end

---Suspends the current task until something wakes it, cancelled or not: for what ends by itself.
function tasks.suspend_anyway()
    current.is_parked = true
    nginx.yield()
end

---Suspends the current task until something wakes it. Its caller clears up, and then calls
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

-- A task that catches what it is told is slowed down, so that others have their turn, and left in
-- the end: there is no other way to end it.
local function refuse(task)
    task.refusals = task.refusals + 1
    if task.refusals == 1 then
        return
    elseif task.refusals > REFUSALS then
        log("warn", "%s was cancelled, and catches the error of every call that waits: it is left "
            .. "where it is", task.what)
        finish(task, false, trace.CANCELED)
    end
    tasks.wake(task)
    tasks.suspend_anyway()
end

---Raises in a cancelled task.
function tasks.end_if_cancelled()
    if current and current.is_cancelled then
        refuse(current)
        error(trace.CANCELED, 0)
    end
end

---Suspends the current task until something wakes it. Raises if it is cancelled, or was meanwhile.
function tasks.park()
    tasks.suspend()
    tasks.end_if_cancelled()
end

---The same for a task that serves, such as a ticker's, and waits for more to do: the end of a run
---ends what it calls, and leaves the task itself for the next run.
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

---The task that runs; nil outside of any.
---@return kubelua.Task?
function tasks.task_here()
    return current
end

---Called where a round ended in the middle of a task, for want of memory.
function tasks.abandon()
    poller:leave()
    current = nil
end

return tasks
