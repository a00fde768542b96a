-- The tasks of the loop of one lua_State: coroutines that wait by yielding. What wakes them, and
-- when they are resumed, is in scheduler.lua, which completes this table.
local core = require "kubelua.core"
local log = require "kubelua.log"
local misuse = require "kubelua.misuse"
local running = require "kubelua.running"
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

-- The machine's time, for all that is not told to keep another (sim/clock.lua).
---@type kubelua.Clock
tasks.machine = {
    now = function() return core.now() end,
    unix = function() return core.unix() end,
    at = function(_, at, fire) return tasks.at(at, fire) end,
}

-- What is begun outside of the loop keeps this time; what a task begins, the task's.
tasks.clock = tasks.machine

---The clock of whoever asks.
---@return kubelua.Clock
function tasks.clock_here()
    return current and current.clock or tasks.clock
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
---@field no_wait string? what it calls that must not wait
---@field doing (fun(): string?)? what it has begun and not ended; without it, all of its life
---@field scope kubelua.Scope? what it is a part of
---@field is_cancelled boolean every call that waits raises in it
---@field has_begun boolean

---The scope of the task that runs; nil outside of any.
---@return kubelua.Scope?
function tasks.scope_here()
    return current and current.scope
end

---Puts a task into a scope, if there is one, and out of the one that it is in.
---@param task kubelua.Task
---@param scope kubelua.Scope?
function tasks.join_scope(task, scope)
    tasks.leave_scope(task)
    if scope then
        task.scope = scope
        scope.tasks[task] = true
        task.is_cancelled = task.is_cancelled or scope.is_cancelled
    end
end

---Takes a task out of the scope that it inherited.
---@param task kubelua.Task
function tasks.leave_scope(task)
    if task.scope then
        task.scope.tasks[task] = nil
        task.scope = nil
    end
end

local function forget(task)
    running.remove(task)
    if task.scope then
        task.scope.tasks[task] = nil
    end
end

---Has a task go on until it waits again, or ends.
---@param task kubelua.Task
function tasks.resume(task)
    if task.is_cancelled and not task.has_begun then
        forget(task)
        return
    end
    task.has_begun = true
    local outer = current
    current = task
    task.is_ready, task.is_parked = false, false
    poller:enter(task.activity, task.co, task.registration)
    local ok, message = coroutine.resume(task.co)
    poller:leave()
    current = outer
    if coroutine.status(task.co) == "dead" then
        forget(task)
    end
    if not ok and message ~= trace.CANCELED then
        log("error", "%s failed: %s", task.what, trace.of(task.co, message))
    elseif not task.is_parked and coroutine.status(task.co) == "suspended" then
        local is_new = not task.has_yielded
        task.has_yielded = true
        tasks.wake(task)
        if is_new then
            log("warn", "%s: coroutine.yield() in a handler or spawned function only lets others "
                .. "have their turn; to wait, use kubelua.sleep", task.what)
        end
    end
end

---Makes a task, which the next round starts. It is in the scope of the task that makes it.
---@param what string
---@param f function
---@param ... any its arguments
---@return kubelua.Task
function tasks.task(what, f, ...)
    local arguments = { n = select("#", ...), ... }
    local task = { what = what, co = false, is_ready = false, is_parked = false,
        has_yielded = false, next_turn = false, clock = tasks.clock_here(),
        activity = core.activity(what), scope = nil, is_cancelled = false, has_begun = false }
    task.co = coroutine.create(function()
        return f((table.unpack or unpack)(arguments, 1, arguments.n))
    end)
    tasks.join_scope(task, tasks.scope_here())
    running.add(task)
    tasks.wake(task)
    return task
end

---Has a parked task go on in the next round; once, however often it is called before. It makes
---nothing: whoever wakes a task must not fail for want of memory.
---@param task kubelua.Task
function tasks.wake(task)
    if task.is_ready then
        return
    end
    task.is_ready = true
    ready:add(task)
    if not tasks.running then
        poller:wake()
    end
end

---The task that runs, if this is one: whether a call may wait by yielding. Raises inside a
---coroutine that a handler made by itself: it would have to wait with the loop inside the loop;
---and where no yield is possible: it would leave behind what wakes the task later.
---@param name string of the call, for the message
---@return kubelua.Task?
function tasks.current(name)
    if current and coroutine.running() ~= current.co then
        misuse(name .. " inside a coroutine of your own; use kubelua.spawn for one that can wait")
    end
    if current and not coroutine.isyieldable() then -- luacheck: ignore 143
        misuse(name .. " inside a function that C called, such as one for table.sort or "
            .. "string.gsub, which cannot wait")
    end
    if current and current.no_wait then
        misuse("%s inside %s, which must not wait", name, current.no_wait)
    elseif not current and tasks.running then
        misuse(name .. " inside of the loop, but outside of a handler")
    end
    return current
end

---Has the call that a task waits in raise trace.CANCELED, and every later one. One that has not
---begun never does.
---@param task kubelua.Task
function tasks.cancel(task)
    task.is_cancelled = true
    if task.is_parked then
        tasks.wake(task)
    end
end

---Suspends the current task until something wakes it. For calls that have to clear up before they
---raise, with tasks.end_if_cancelled().
---@return boolean is_cancelled
function tasks.suspend()
    local task = current
    if not task.is_cancelled then
        task.is_parked = true
        coroutine.yield()
    end
    return task.is_cancelled
end

---Raises in a cancelled task.
function tasks.end_if_cancelled()
    if current.is_cancelled then
        error(trace.CANCELED, 0)
    end
end

---Suspends the current task until something wakes it. Raises if it is cancelled, or was meanwhile.
function tasks.park()
    tasks.suspend()
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
