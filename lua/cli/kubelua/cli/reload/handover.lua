-- kubelua run --reload: moves the loop from one script to the next. First the old script pauses:
-- its runs end, and then nothing of it has a turn. If the new one starts, the old handlers are told
-- what came before the new ones took over, and the old script ends. Otherwise the new one ends, and
-- the old one goes on.
local core = require "kubelua.core"
local cache_of = require "kubelua.controller.cache_of"
local clients = require "kubelua.client"
local controllers = require "kubelua.controller"
local deliveries = require "kubelua.delivery"
local fleets = require "kubelua.fleet.progress"
local informers = require "kubelua.informer"
local informer_parts = require "kubelua.informer.parts"
local leader = require "kubelua.leader"
local log = require "kubelua.log"
local registrations = require "kubelua.registration"
local running = require "kubelua.running"
local scheduler = require "kubelua.scheduler"
local tasks = require "kubelua.tasks"
local triggers = require "kubelua.controller.triggers"
local waiting = require "kubelua.waiting"
local worker = require "kubelua.controller.worker"

local handover = {}

-- Seconds that cancelled calls have to end; what has not ended then is never resumed.
local TO_END = 1
local TO_HURRY = 0.3 -- after a signal

-- ---- what belongs to a script ----

local function tasks_of(script, wanted)
    return running.select(function(task)
        return task.script == script and (not wanted or wanted(task))
    end)
end

local function controllers_of(script)
    local all = {}
    for state in pairs(controllers.started) do
        if state.script == script and not state.is_over then
            all[#all + 1] = state
        end
    end
    return all
end

local function informers_of(script)
    local all = {}
    for informer in pairs(informers.open) do
        if core.state(informer, "kubelua.informer").script == script then
            all[#all + 1] = informer
        end
    end
    return all
end

-- The deliveries of its handlers, each once: a handler on several namespaces is in several
-- informers.
local function deliveries_of(script)
    local all, seen = {}, {}
    for _, informer in ipairs(informers_of(script)) do
        for registration in pairs(informer_parts.registrations(informer)) do
            local delivery = registrations.delivery(registration)
            if not seen[delivery] then
                seen[delivery], all[#all + 1] = true, delivery
            end
        end
    end
    return all
end

-- ---- rounds ----

-- Runs rounds until `is_over()`, the deadline, or a signal. True: it is over.
local function run_rounds(deadline, is_over)
    local function is_done()
        return is_over() or waiting.must_end()
    end
    while not is_done() and core.now() < deadline do
        scheduler.round(deadline, is_done)
    end
    return is_over()
end

---Calls a function while signals end the run later, and not the process at once.
---@param f function
---@param ... any
---@return any
function handover.with_signals(f, ...)
    local catches = tasks.poller:catch()
    local ok, result = pcall(f, ...)
    if catches then
        tasks.poller:release_unless_caught()
    end
    if not ok then
        error(result, 0)
    end
    return result
end

-- ---- the pause ----

-- True for a task of a controller's run, and for a task that is in a call of a handler or ticker.
local function is_busy(task)
    return task.is_run or task.scope ~= nil
        or (task.serves and task.has_begun and not task.is_resting)
end

local function cancel_busy(script)
    for _, state in ipairs(controllers_of(script)) do
        for _, record in pairs(state.runs) do
            worker.cancel(record, "stopped") -- its key waits again
        end
    end
    local latest = core.now()
    for _, task in ipairs(tasks_of(script, is_busy)) do
        task.is_ended = task.serves
        task:cancel()
        latest = math.max(latest, task.ends_by or 0)
    end
    return latest + TO_END
end

-- Waits until the caches hold what this script has written: the next script has the same caches.
local function settle_writes(script, deadline)
    local waits = {}
    for i, state in ipairs(controllers_of(script)) do
        waits[i] = tasks.task("reload: writes of " .. state.what, state.writes.settle_all,
            state.writes)
        tasks.leave_script(waits[i])
    end
    run_rounds(deadline, function()
        for _, task in ipairs(waits) do
            if not task.is_over then
                return false
            end
        end
        return true
    end)
    for _, task in ipairs(waits) do
        task:cancel()
    end
end

local function pause(script, seconds)
    local deadline = core.now() + seconds
    local function is_idle()
        return #tasks_of(script, is_busy) == 0
    end
    for _, delivery in ipairs(deliveries_of(script)) do
        deliveries.unmark(delivery)
    end
    script:enter("drains", tasks.release)
    if not run_rounds(deadline, is_idle) and not waiting.must_end() then
        log("warn", "reload: %s has not ended within %g s (--grace), and is cancelled",
            running.list(tasks_of(script, is_busy)), seconds)
        run_rounds(cancel_busy(script), is_idle)
    end
    settle_writes(script, math.max(deadline, core.now() + TO_END))
    if waiting.must_end() then
        script:enter("runs", tasks.release)
        return false
    end
    script:enter("stands", tasks.release)
    for _, delivery in ipairs(deliveries_of(script)) do
        deliveries.make_room(delivery)
    end
    return true
end

---Pauses a script: its runs, and calls of handlers and tickers, have so many seconds to end. False:
---a signal came first, and the script goes on.
---@param script kubelua.Script
---@param seconds number
---@return boolean
function handover.pause(script, seconds)
    return handover.with_signals(pause, script, seconds)
end

---The script goes on after a pause.
---@param script kubelua.Script
function handover.resume(script)
    script:enter("runs", tasks.release)
    for _, state in ipairs(controllers_of(script)) do
        state.wake()
    end
    tasks.poller:wake()
end

-- ---- the end ----

-- Runs rounds until `is_over()`, or the deadline; after a signal, for TO_HURRY seconds at most.
local function run_cleanups(deadline, is_over)
    run_rounds(deadline, is_over)
    deadline = waiting.must_end() and core.now() + TO_HURRY or 0
    while not is_over() and core.now() < deadline do
        scheduler.round(deadline, is_over)
    end
end

local function finish(script)
    local its_fleets = fleets.of_script(script)
    for _, fleet in ipairs(its_fleets) do
        fleet:hurry()
    end
    for _, state in ipairs(controllers_of(script)) do
        state:stop()
        state.wake() -- its task ends
    end
    script:enter("ends", tasks.release)
    local deadline = core.now()
    for _, task in ipairs(tasks_of(script)) do
        if not task.outlasts then -- else it ends with its controller
            task:cancel()
            deadline = math.max(deadline, task.ends_by or 0)
        end
    end
    run_cleanups(deadline + TO_END, function()
        return #tasks_of(script) == 0 and not leader.is_leaving()
    end)
    for _, informer in ipairs(informers_of(script)) do
        informer:stop()
    end
    for _, task in ipairs(tasks_of(script)) do
        tasks.drop(task)
    end
    for _, fleet in ipairs(its_fleets) do
        fleet:abandon()
    end
    script.held, script.missed = {}, {}
    scheduler.drop_cancelled()
end

---Ends a script whose start was given up, and that replaces none.
---@param script kubelua.Script
function handover.drop(script)
    handover.with_signals(finish, script)
    clients.settle(script, nil)
end

---Ends a script whose start has failed; the one before can go on then.
---@param script kubelua.Script
---@param before kubelua.Script
function handover.take_back(script, before)
    handover.with_signals(finish, script)
    script.replaces = nil
    clients.settle(script, before)
end

-- ---- the next one ----

local function find_kind(state)
    return state.main and cache_of.kind_of(state.main)
end

-- "po" and "pods" are the same resource.
local function has_same_resource(a, b)
    local one, other = find_kind(a), find_kind(b)
    return a.options.resource == b.options.resource
        or one and other and one.group == other.group and one.plural == other.plural
end

-- Without the option `name`, a controller has that of its resource.
local function has_same_name(a, b)
    return a.name == b.name
        or a.name == a.options.resource and b.name == b.options.resource
end

local function find_successor(state, script)
    for _, other in ipairs(controllers_of(script)) do
        if state.cluster == other.cluster and has_same_name(state, other)
            and has_same_resource(state, other) and not other.is_stopped then
            return other
        end
    end
end

-- Tells the successor, the controller of the same name in the next script, of objects that were
-- deleted just before. It learns of all other objects from its caches.
local function hand_over_deletes(source, successor)
    for _, other in ipairs(successor.in_order) do
        if other.role == source.role
            and (other.name == source.name or source.role == "reconciles") then
            for _, event in pairs(source.refused) do
                triggers.deliver(successor, other, { old = event.old or event.new })
            end
            deliveries.take_left(registrations.delivery(source.registration), function(event, a)
                if event == "delete" then
                    triggers.deliver(successor, other, { old = a })
                end
            end)
        end
    end
end

local function hand_over_keys(state, successor)
    local keys, at_once = state.queue:take_all(), { state.failing, state.runs }
    at_once[3] = not state.main and state.memos or nil -- no cache has its keys
    for _, all in ipairs(at_once) do
        for key in pairs(all) do
            keys[key] = 0
        end
    end
    for key, seconds in pairs(keys) do
        if seconds > 0 then -- a later run was asked for
            successor.queue:add_after(key, seconds)
        else
            successor:add_related(key, true)
        end
    end
end

-- In a task: functions of the script, such as map, are called.
local function hand_over_events(old, new)
    for _, state in ipairs(controllers_of(old)) do
        local successor = find_successor(state, new)
        for _, source in ipairs(successor and state.in_order or {}) do
            if source.registration then
                hand_over_deletes(source, successor)
            end
        end
    end
end

local function hand_over_all_keys(old, new)
    for _, state in ipairs(controllers_of(old)) do
        local successor = find_successor(state, new)
        if successor then
            hand_over_keys(state, successor)
        end
    end
end

local function run_task(what, f, ...)
    local task = tasks.task(what, f, ...)
    tasks.leave_script(task)
    run_rounds(math.huge, function() return task.is_over end)
end

-- Tells the old handlers what came before the new ones took over. False: a signal came, or the
-- handlers have not returned in time.
local function tell_handlers(script, seconds)
    local all = deliveries_of(script)
    script:enter("tells", tasks.release)
    for _, delivery in ipairs(all) do
        deliveries.tell_left(delivery)
    end
    return run_rounds(core.now() + seconds, function()
        for _, delivery in ipairs(all) do
            if not deliveries.has_told(delivery) then
                return false
            end
        end
        return true
    end)
end

local function count_untold(script)
    local count = 0
    for _, delivery in ipairs(deliveries_of(script)) do
        count = count + deliveries.count_untold(delivery)
    end
    return count
end

local function take_over(old, new, seconds)
    new:enter("stands", tasks.release)
    run_task("reload: events", hand_over_events, old, new)
    if not tell_handlers(old, seconds) and not waiting.must_end() then
        log("warn", "reload: a handler of the former script has not returned within %g s "
            .. "(--grace); %d later events are not told to it", seconds, count_untold(old))
    end
    hand_over_all_keys(old, new)
    finish(old)
    clients.settle(old, new)
    new.replaces = nil
    handover.resume(new)
end

---The new script has started: ends the old one.
---@param old kubelua.Script
---@param new kubelua.Script
---@param seconds number that handlers of the old script have for the events that came before
function handover.complete(old, new, seconds)
    handover.with_signals(take_over, old, new, seconds)
end

return handover
