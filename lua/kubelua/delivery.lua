-- Takes the events of a registration from the core, and calls the script's callbacks: one at a
-- time, in order, in one task. The events come in one stream, or in several (one for each
-- namespace).
local core = require "kubelua.core"
local log = require "kubelua.log"
local running = require "kubelua.running"
local scheduler = require "kubelua.scheduler"
local sources = require "kubelua.sources"
local tasks = require "kubelua.tasks"
local trace = require "kubelua.trace"

---@class kubelua.Stream
---@field registration userdata the core's, with one informer
---@field id integer the poller returns it when there are events
---@field namespace string? if there are several streams

local delivery = {
    EVENTS = { "add", "update", "delete", "synced", "error" },
}

-- A stream delivers at most this many events before the next stream has its turn.
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
        local subject = event == "update" and b or a
        log("error", "%s failed: %s", describe(state, event, subject), problem)
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

-- Handles one event; false if none waits. The next call gives the event back to the core.
local function handle_next(stream, state)
    local event, a, b = next_event(stream.registration)
    if not event then
        return false
    end
    handle_stream_event(stream, state, event, a, b)
    return true
end

local function handle_some(stream, state)
    local handled = 0
    state.task.registration = stream.registration
    while handled < BATCH and not state.removed and not state.task.is_ended
        and handle_next(stream, state) do
        handled = handled + 1
    end
    if (handled == BATCH or state.task.is_ended) and not state.removed then
        core.registration_done(stream.registration)
        core.registration_again(stream.registration, tasks.poller)
    end
end

-- While a handler waits, events may arrive for a stream that had none.
local function handle_all(state)
    repeat
        state.has_more = false
        for _, stream in ipairs(state.streams) do
            handle_some(stream, state)
        end
    until not state.has_more or state.task.is_ended
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
    for _, event in ipairs(delivery.EVENTS) do
        callbacks[event] = given[event]
    end
    return callbacks
end

---Subscribes to the events of an informer.
---@param informer kubelua.Informer
---@param namespace string? if there are several streams
---@param given kubelua.HandlerOptions
---@param backlog integer
---@return kubelua.Stream?, string?, string?
function delivery.subscribe(informer, namespace, given, backlog)
    local id = sources.new_id()
    local registration, message, code = core.subscribe(informer, tasks.poller, id, {
        name = given.name,
        resync = given.resync,
        every_change = given.coalesce == false,
        quiet = given.error == nil,
        backlog = backlog,
    })
    if not registration then
        return nil, message, code
    end
    return { registration = registration, id = id, namespace = namespace }
end

---Starts the task that handles the events of the streams.
---@param state table of the registration; its name is set already
---@param given kubelua.HandlerOptions
---@param streams kubelua.Stream[]
function delivery.begin(state, given, streams)
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
    local function pull()
        state.has_more = true
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
function delivery.is_at_rest(state)
    for _, stream in ipairs(state.streams) do
        if (stream.registration:backlog() or 0) > 0 then
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
function delivery.finish(state)
    if state.drains and not state.removed then
        drain_all(state)
    end
    state.removed = true
    for _, stream in ipairs(state.streams or {}) do
        sources.remove(stream.id)
        core.registration_remove(stream.registration)
    end
end

return delivery
