-- Takes keys from the queue of a controller, and runs reconcile: each key in its own task, several
-- at a time.
local Run = require "kubelua.controller.run"
local dropped = require "kubelua.controller.dropped"
local fights = require "kubelua.controller.fights"
local finalizer = require "kubelua.controller.finalizer"
local lines = require "kubelua.log_lines"
local mapping = require "kubelua.controller.mapping"
local outcome = require "kubelua.controller.outcome"
local tasks = require "kubelua.tasks"
local scopes = require "kubelua.scope"
local trace = require "kubelua.trace"

---@class kubelua.controller.Record of a run that has begun and not ended
---@field state kubelua.controller.State
---@field key string
---@field item kubelua.controller.Item
---@field since number on the controller's clock
---@field scope kubelua.Scope
---@field task kubelua.Task
---@field fence (fun(write: kubelua.Write): true?, string?, string?)? see before_write of a scope
---@field is_late boolean? it was cancelled because its time was over
---@field reason "timeout"|"not_leader"|"stopped"|nil why it was cancelled
---@field part integer? of its key, with the option `shards`
---@field is_of_deleted boolean? the object was deleted before the run began
---@field result kubelua.controller.Outcome? once it is over
---@field failed kubelua.Failure[]? writes that have failed, so far
---@field is_over boolean?

---A key as the queue gives it out.
---@class kubelua.controller.Item: kubelua.RunTag
---@field due number?
---@field is_rear boolean
---@field waited number

local worker = {}

-- Calls a function of the script with a run.
local function call_function(state, record, name, subject, object)
    local run = Run.new(state, record.key, object, record.item)
    local result = outcome.call(name, state.options[name], subject, run)
    run:close()
    return result
end

-- For a key that the cache does not have any more, or has with another UID.
local function call_gone(state, record)
    local key = record.key
    if state.options.gone then
        local result = call_function(state, record, "gone", key, nil)
        if result.result ~= "done" then
            return result
        end
    end
    state.memos[key] = nil
    state.writes.own:forget(key)
    dropped.forget(state, key)
    return nil
end

-- For a key that the cache does not have, but whose object must be finalized. nil: there is no such
-- object, or it is finalized.
local function finalize_outside(state, record)
    local object, message, code, retry_after = finalizer.find_unselected(state, record.key)
    if message then
        return outcome.failure(message, code, retry_after)
    elseif not object then
        return nil
    end
    local run = Run.new(state, record.key, object, record.item)
    local result = finalizer.finalize(state, run, object)
    run:close()
    return result.keeps and result or nil
end

local function reconcile_object(state, record, object)
    local run = Run.new(state, record.key, object, record.item)
    local result
    result, object = finalizer.step(state, run, object)
    if not result and finalizer.is_terminating(object) and not state.options.terminating then
        result = outcome.done
    elseif not result then
        Run.renew(run, object)
        result = outcome.call("reconcile", state.options.reconcile, object, run)
    end
    run:close()
    return result
end

-- True if a key was enqueued before the kind was known, and now turns out to be of no such object.
-- Then there is nothing to do: gone must not be called for it.
local function is_mistaken(state, key)
    local early = state.early[key]
    state.early[key] = nil
    local problem = early and mapping.problem(state.kind, early.value, "")
    if problem then
        lines.of_controller("error", state, key, "%senqueue: %s", early.where, problem)
    end
    return problem ~= nil
end

local function perform_run(state, record)
    local key = record.key
    local ok, message, code, retry_after = state.writes:settle(key)
    if not ok then
        return outcome.failure(message, code, retry_after)
    elseif not state.main then
        state:keep(key) -- the keys of a controller without a resource
        return call_function(state, record, "reconcile", key, nil)
    end
    local object = state.main.informer:get(key)
    local known = state.memos[key]
    if is_mistaken(state, key) and not object then
        return outcome.done
    elseif not object or (known and known.uid ~= object.uid) then
        local result = (not object and finalize_outside(state, record)) or call_gone(state, record)
        if result or not object then
            return result or outcome.done
        end
    end
    if state.options.gone then
        state:keep(key, object) -- so a new UID will be noticed
    end
    return reconcile_object(state, record, object)
end

-- True if a failure must be logged: at the attempts 1, 2, 4, 8, ..., and whenever its message is
-- new.
local function is_news(before, message, attempt)
    while attempt % 2 == 0 do
        attempt = attempt / 2
    end
    return attempt == 1 or not before or before.message ~= message
end

local function report_result(state, record, result, again)
    local before, attempt = state.failing[record.key], record.item.attempt
    if result.result ~= "failed" then
        state.failing[record.key] = nil
        if result.message then
            lines.write("info", string.format("%s: %s: %s; it runs again after its next event",
                state.what, state:describe(record.key), result.message), {
                cluster = state.cluster, controller = state.name, key = record.key,
                attempt = attempt,
                msg = result.message .. "; it runs again after its next event" })
        end
        return
    end
    state.failing[record.key] = { key = record.key, message = result.message, code = result.code,
        attempt = attempt }
    if is_news(before, result.message, attempt) then
        lines.write(result.is_bug and "error" or "warn", string.format("%s: %s: %s (attempt %d%s)",
            state.what, state:describe(record.key), result.message, attempt,
            again and string.format("; again in %.1f s", again) or ""), {
            cluster = state.cluster, controller = state.name, key = record.key, attempt = attempt,
            msg = "the run failed",
            error = result.message, fields = { code = result.code, again_in = again } })
    end
end

-- The outcome of a run that may have been cancelled. A timeout is a failure. Otherwise the key runs
-- again as soon as runs may begin.
local function judge_cancelled(state, record, result)
    local reason = record.reason or (record.task.is_ended and "ended") or nil
    if not result then -- the task never began, or was abandoned
        result = outcome.failure("it was cancelled, and did not return", "canceled")
        reason = reason or "ended"
    end
    if not reason or (result.result ~= "failed" and reason ~= "not_leader") then
        return result
    elseif reason == "timeout" then
        return outcome.failure("it was cancelled after " .. state.options.timeout .. " s",
            "timeout")
    end
    state.queue:add(record.key, record.item.is_rear)
    return outcome.done
end

local function finish_run(state, record)
    record.is_over = true
    state.runs[record.key] = nil
    state.running = state.running - 1
    if state.running == 0 and state.time_limit then
        state.time_limit.cancelled, state.time_limit = true, nil
    end
    local result = judge_cancelled(state, record, record.result)
    local again = state.queue:done(record.key, result.result, result.seconds)
    if not record.reason or record.reason == "timeout" then -- not cancelled by a stop
        state.counts:note(record, result, state.clock:now() - record.since)
        pcall(report_result, state, record, result, again)
        pcall(dropped.report, state, record, result)
        state:handled(record.key)
    end
    if state.sharding then
        state.sharding:end_run(record)
    end
    state.wake()
end

-- The task of a run.
local function run_task(record)
    local ok, result = pcall(perform_run, record.state, record)
    if not ok then
        result = outcome.failure(result == trace.CANCELED and "cancelled" or tostring(result),
            result == trace.CANCELED and "canceled" or "error")
    end
    record.result = result
end

---Cancels a run. Its key stays in progress until the function of the script has returned. If the
---task of the run has not begun, the run ends when the task has its turn, without calling the
---function.
---@param record kubelua.controller.Record
---@param reason "timeout"|"not_leader"|"stopped"
function worker.cancel(record, reason)
    record.reason = record.reason or reason
    record.scope:cancel()
end

-- Cancels the runs whose time is over. Returns when the first of the others began.
local function cancel_late(state)
    local timeout, now, earliest = state.options.timeout, state.clock:now(), nil
    for key, record in pairs(state.runs) do
        if not record.is_late and record.since + timeout <= now then
            record.is_late = true
            lines.of_controller("warn", state, key, "%s has run for %g s (option timeout), and is "
                .. "cancelled", key, timeout)
            worker.cancel(record, "timeout")
        elseif not record.is_late then
            earliest = math.min(earliest or record.since, record.since)
        end
    end
    return earliest
end

-- Limits the time of all runs by one timer: nearly every run is over long before. It is set for the
-- first of them, and then for the first of those that still run.
local function limit_time(state, since)
    if state.time_limit or state.options.timeout == math.huge then
        return
    end
    state.time_limit = state.clock:at(since + state.options.timeout, function()
        state.time_limit = nil
        local earliest = cancel_late(state)
        if earliest then
            limit_time(state, earliest)
        end
    end)
end

-- The hooks of the scope of a run.

local function before_write(write, scope)
    local record = scope.record
    if record.fence then
        local ok, message, code = record.fence(write)
        if not ok then
            return nil, message, code
        end
    end
    record.state.writes:begin(record.key, write)
    return true
end

local function wrote(write, scope)
    local record = scope.record
    record.state.writes:finish(record.key, write)
    dropped.note_write(record, write)
end

local function failed(failure, scope)
    dropped.note_failure(scope.record, failure)
end

local function make_scope(record)
    local scope = scopes.new()
    scope.record, scope.run = record, record.item
    scope.before_write, scope.wrote, scope.failed = before_write, wrote, failed
    return scope
end

local function on_over(_, _, task)
    finish_run(task.a.state, task.a)
end

local function begin_run(state, key, item)
    local record = { state = state, key = key, item = item, since = state.clock:now(), scope = nil,
        task = nil, result = nil, is_over = nil }
    record.scope = make_scope(record)
    record.fence = state.leader and state.leader.guard()
        or state.sharding and state.sharding:fence(record) or nil
    fights.note_run(state, key)
    record.task = tasks.run(state.what .. ": " .. key, record.scope, run_task, record)
    record.task.on_over = on_over
    state.runs[key] = record
    state.running = state.running + 1
    if state.sharding then
        state.sharding:begin_run(record)
    end
    limit_time(state, record.since)
end

---Begins runs while there are keys and free workers.
---@param state kubelua.controller.State
function worker.begin_runs(state)
    while state.running < state.options.workers and state:may_run() do
        local key, is_rear, attempt, waited, due = state.queue:next()
        if not key then
            return
        end
        local ok, problem = true, nil
        if state.sharding and not state.sharding:may_run(key) then
            state.queue:done(key, "done") -- another member's: it is queued again if it comes here
            state:handled(key)
        else
            ok, problem = pcall(begin_run, state, key, { controller = state.name, key = key,
                attempt = attempt, is_rear = is_rear, waited = waited,
                due = due and state.clock:unix() + due })
        end
        if not ok and not state.runs[key] then -- memory was short for a task
            state.queue:done(key, "failed")
            error(problem, 0)
        end
    end
end

return worker
