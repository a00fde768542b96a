-- The delivery of a registration: takes its events from the core, and calls the callbacks of the
-- script: one at a time, in order, in one task.
local core = require "kubelua.core"
local lines = require "kubelua.log_lines"
local log = require "kubelua.log"
local running = require "kubelua.running"
local scheduler = require "kubelua.scheduler"
local sources = require "kubelua.sources"
local tasks = require "kubelua.tasks"
local trace = require "kubelua.trace"

local deliveries = {
    failures = 0, -- errors of handlers
    -- The events that a handler may have a callback for.
    EVENTS = { "add", "update", "delete", "synced", "error" },
}

---@class kubelua.EventStream
---@field registration userdata the core's, with one informer
---@field id integer the poller returns it when there are events
---@field namespace string? if there are several streams
---@field left integer? see must_pause
---@field aside kubelua.EventAside[]? taken out of the core, in order; see set_aside
---@field aside_first integer? the first of them that was not handled

---@class kubelua.EventAside
---@field event string
---@field a any
---@field b any
---@field is_late boolean it came after the successor of the script took over

-- A stream delivers at most this many events before the next stream is asked.
local BATCH = 256

-- Seconds until an event is tried again that could not be delivered because memory was short.
local RETRY = 0.1

local next_event = core.registration_next

local function describe(state, event, subject)
    local what = state.name .. ": handler of " .. event
    if core.is_object(subject) then
        what = what .. " for " .. tostring(subject)
    end
    return what
end

local function call_handler(state, event, a, b)
    local callback = state.callbacks[event]
    if not callback then
        return
    end
    local ok, problem = trace.call(callback, a, b)
    scheduler.count()
    if not ok and problem ~= trace.CANCELED then
        deliveries.failures = deliveries.failures + 1
        local subject = event == "update" and b or a
        local what = describe(state, event, subject)
        lines.write("error", what .. " failed: " .. problem, { msg = what .. " failed",
            error = problem, key = core.is_object(subject) and subject.key or nil })
    end
end

-- With several streams: the registration is synced once the last stream is, and errors name the
-- namespace.
local function handle_stream_event(stream, state, event, a, b)
    if event == "synced" then
        state.unsynced = state.unsynced - 1
        if state.unsynced > 0 then
            return
        end
    elseif event == "error" and stream.namespace then
        a = "namespace " .. stream.namespace .. ": " .. a
    end
    call_handler(state, event, a, b)
end

-- An informer waits for a handler that gets every change and is full. While its script stands,
-- nothing would make room, and the next script would wait for its caches for ever: so the events
-- are set aside here.
local function set_aside(stream)
    local marked = core.registration_marked(stream.registration)
    local event, a, b = next_event(stream.registration)
    while event do
        stream.aside = stream.aside or {}
        table.insert(stream.aside, { event = event, a = a, b = b, is_late = marked == 0 })
        core.registration_done(stream.registration)
        marked = core.registration_marked(stream.registration)
        event, a, b = next_event(stream.registration)
    end
end

-- How many events are set aside that came before the successor.
local function count_aside(stream)
    local count = 0
    for i = stream.aside_first or 1, #(stream.aside or {}) do
        count = count + (stream.aside[i].is_late and 0 or 1)
    end
    return count
end

-- The next event and its arguments; nil: none waits.
local function take_next(stream)
    local aside, first = stream.aside, stream.aside_first or 1
    if not aside then
        return next_event(stream.registration)
    end
    local one = aside[first]
    aside[first], stream.aside_first = false, first + 1
    if first == #aside then
        stream.aside, stream.aside_first = nil, nil
    end
    return one.event, one.a, one.b
end

-- Handles one event; false if none waits. The next call gives the event back to the core.
local function handle_next(stream, state)
    local event, a, b = take_next(stream)
    if not event then
        return false
    end
    handle_stream_event(stream, state, event, a, b)
    return true
end

-- True if no event may be handled now: the call was cancelled, or the script is being replaced.
-- `left` events of a stream came before its successor took over: they are still handled.
local function must_pause(state, stream)
    local script = state.task.script
    if state.task.is_ended or not script or script.stage == "runs" then
        return state.task.is_ended
    end
    return script.stage ~= "tells" or (stream ~= nil and (stream.left or 0) <= 0)
end

local function handle_some(stream, state)
    local handled = 0
    state.task.registration = stream.registration
    while handled < BATCH and not state.removed and not must_pause(state, stream)
        and handle_next(stream, state) do
        handled = handled + 1
        stream.left = stream.left and stream.left - 1
    end
    if stream.left and handled < BATCH then
        stream.left = 0 -- some of them have become one
    end
    if (handled == BATCH or must_pause(state, stream)) and not state.removed then
        core.registration_done(stream.registration)
        if stream.left ~= 0 then
            core.registration_again(stream.registration, tasks.poller)
        end
    end
end

-- While a handler waits, events may arrive for a stream that had none.
local function handle_all(state)
    repeat
        state.has_more = false
        for _, stream in ipairs(state.streams) do
            handle_some(stream, state)
        end
    until not state.has_more or must_pause(state)
end

local function ask_again(state)
    for _, stream in ipairs(state.streams) do
        core.registration_again(stream.registration, tasks.poller)
    end
end

-- The event could not be delivered because memory was short: it still waits in the core, and is
-- tried again a little later.
local function try_later(state, problem)
    pcall(log, "error", "%s: %s; tried again", state.name, problem)
    local is_set = pcall(scheduler.at, core.now() + RETRY, state.wake)
    if not is_set then
        ask_again(state)
    end
    state.idle = not is_set
end

-- The body of the registration's task. While no event waits, the task rests, and `idle` is true.
local function run_delivery(state)
    while not state.removed do
        local ok, problem = pcall(handle_all, state)
        state.idle = true
        if not ok and not state.removed then
            try_later(state, problem)
        end
        tasks.rest()
    end
end

local function pick_callbacks(given)
    local callbacks = {}
    for _, event in ipairs(deliveries.EVENTS) do
        callbacks[event] = given[event]
    end
    return callbacks
end

---Starts the task that handles the events of the streams.
---@param state table of the registration; its name is set already
---@param given kubelua.HandlerOptions
---@param streams kubelua.EventStream[]
function deliveries.begin(state, given, streams)
    state.streams, state.unsynced = streams, #streams
    state.idle, state.has_more = false, false
    state.callbacks = pick_callbacks(given)
    state.task = tasks.task(state.name, run_delivery, state)
    tasks.leave_scope(state.task) -- the task outlives the run that made it
    state.task.serves, state.task.registration = true, streams[1].registration
    state.task.doing = function() return core.registration_doing(state.task.registration) end
    state.wake = function()
        tasks.wake(state.task)
    end
    state.every_change = given.coalesce == false
    local function pull()
        state.has_more = true
        deliveries.make_room(state)
        if state.idle then
            state.idle = false
            tasks.wake(state.task)
        end
    end
    for _, stream in ipairs(streams) do
        for event, callback in pairs(state.callbacks) do
            core.registration_name(stream.registration, event,
                running.name(state.name .. ": handler of " .. event, callback))
        end
        sources.add(stream.id, pull)
    end
end

---True if every event that has arrived was handled.
---@param state table
---@return boolean
function deliveries.is_at_rest(state)
    for _, stream in ipairs(state.streams) do
        if stream.aside or (stream.registration:backlog() or 0) > 0 then
            return false
        end
    end
    return state.idle
end

-- Calls the callbacks for every event that waits, at once and on the caller's stack.
local function drain_all(state)
    local ok, problem = pcall(handle_all, state)
    if not ok then
        pcall(log, "error", "%s: %s; the last events were not delivered", state.name, problem)
    end
end

---Ends the delivery: no callback is called after this. If `state.drains` is true, first calls the
---callbacks for every event that waits; these callbacks must not wait themselves.
---@param state table
function deliveries.finish(state)
    if state.drains and not state.removed then
        drain_all(state)
    end
    state.removed = true
    for _, stream in ipairs(state.streams or {}) do
        sources.remove(stream.id)
        core.registration_remove(stream.registration)
    end
end

---The script that it belongs to begins to be replaced: marks of a former attempt are forgotten.
---@param state table
function deliveries.unmark(state)
    for _, stream in ipairs(state.streams or {}) do
        core.registration_unmark(stream.registration)
        for i = stream.aside_first or 1, #(stream.aside or {}) do
            stream.aside[i].is_late = false
        end
    end
end

-- How many events wait that came before the successor of the script took over, or all, if it does
-- not use this informer.
local function count_left(stream)
    return count_aside(stream)
        + (core.registration_marked(stream.registration) or stream.registration:backlog() or 0)
end

---If its script stands, its informer does not wait for it. Called when the script begins to stand,
---and for later events.
---@param state table
function deliveries.make_room(state)
    local script = state.task.script
    if not state.every_change or state.removed or not script or script.stage ~= "stands" then
        return
    end
    for _, stream in ipairs(state.streams) do
        local ok, problem = pcall(set_aside, stream)
        if not ok then -- memory is short: what is left still waits in the core
            pcall(log, "error", "%s: %s", state.name, problem)
        end
    end
    state.idle = false
    tasks.wake(state.task)
end

---Its handlers are called for the events that came before the successor of the script took over, in
---its task.
---@param state table
function deliveries.tell_left(state)
    for _, stream in ipairs(state.streams or {}) do
        stream.left = count_left(stream)
    end
    state.task.tells, state.idle = true, false
    tasks.wake(state.task)
end

---True once its handlers have returned from all of them.
---@param state table
---@return boolean
function deliveries.has_told(state)
    for _, stream in ipairs(state.streams or {}) do
        if stream.left > 0 and not state.removed then
            return false
        end
    end
    return state.task.is_over or state.task.is_resting and not state.task.is_ready
end

---How many of them its handlers were not called for.
---@param state table
---@return integer
function deliveries.count_untold(state)
    local count = 0
    for _, stream in ipairs(state.streams or {}) do
        local is_called = not state.task.is_resting
            and state.task.registration == stream.registration
        count = count + math.max((stream.left or 0) - (is_called and 1 or 0), 0)
    end
    return count
end

---The same as tell_left, but passes these events to `f(event, a, b)` instead, at once.
---@param state table
---@param f fun(event: string, a: any, b: any)
function deliveries.take_left(state, f)
    for _, stream in ipairs(state.streams or {}) do
        for _ = 1, count_left(stream) do
            local event, a, b = take_next(stream)
            if event then
                f(event, a, b)
            end
        end
        core.registration_done(stream.registration)
    end
end

return deliveries
