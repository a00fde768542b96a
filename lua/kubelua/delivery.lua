-- From the events of informers to the callbacks of one registration: a task pulls them, one at a
-- time and in order, of one stream or of several (a namespace each).
local core = require "kubelua.core"
local log = require "kubelua.log"
local running = require "kubelua.running"
local scheduler = require "kubelua.scheduler"
local sources = require "kubelua.sources"
local trace = require "kubelua.trace"

---@class kubelua.Stream
---@field registration userdata of the core, with one informer
---@field id integer that the poller returns when it has events
---@field namespace string? where there are several

local delivery = {
    EVENTS = { "add", "update", "delete", "synced", "error" },
}

-- Events that one stream delivers before the others get their turn.
local BATCH = 256

-- Seconds until what lacked memory is tried again.
local RETRY = 0.1

local next_event = core.registration_next

local function describe(state, event, subject)
    local what = state.name .. ": handler of " .. event
    if core.is_object(subject) then
        what = what .. " for " .. tostring(subject)
    end
    return what
end

local function handle(state, event, a, b)
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

-- Of several streams, the last one that is synced makes the registration so, and errors name the
-- namespace.
local function handle_of(stream, state, event, a, b)
    if event == "synced" then
        state.unsynced = state.unsynced - 1
        if state.unsynced > 0 then
            return
        end
    elseif event == "error" and stream.namespace then
        a = "namespace " .. stream.namespace .. ": " .. a
    end
    handle(state, event, a, b)
end

-- Handles one event; false if none waits. The next one gives it back.
local function handle_next(stream, state)
    local event, a, b = next_event(stream.registration)
    if not event then
        return false
    end
    handle_of(stream, state, event, a, b)
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
        core.registration_again(stream.registration, scheduler.poller)
    end
end

-- While a handler waits, events may come to a stream that had none.
local function handle_all(state)
    repeat
        state.has_more = false
        for _, stream in ipairs(state.streams) do
            handle_some(stream, state)
        end
    until not state.has_more or state.task.is_ended
end

local function come_again(state)
    for _, stream in ipairs(state.streams) do
        core.registration_again(stream.registration, scheduler.poller)
    end
end

-- An event could not even be told, for want of memory: it still waits, and is told a little later.
local function try_later(state, problem)
    pcall(log, "error", "%s: %s; tried again", state.name, problem)
    local is_set = pcall(scheduler.at, core.now() + RETRY, state.wake)
    if not is_set then
        come_again(state)
    end
    state.idle = not is_set
end

-- The body of the registration's coroutine. It parks when nothing waits; `idle` says so.
local function serve(state)
    while not state.removed do
        local ok, problem = pcall(handle_all, state)
        state.idle = true
        if not ok and not state.removed then
            try_later(state, problem)
        end
        scheduler.rest()
    end
end

local function callbacks_of(given)
    local callbacks = {}
    for _, event in ipairs(delivery.EVENTS) do
        callbacks[event] = given[event]
    end
    return callbacks
end

---A stream of an informer's events.
---@param informer kubelua.Informer
---@param namespace string? where there are several
---@param given kubelua.HandlerOptions
---@param backlog integer
---@return kubelua.Stream?, string?, string?
function delivery.subscribe(informer, namespace, given, backlog)
    local id = sources.new_id()
    local registration, message, code = core.subscribe(informer, scheduler.poller, id, {
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

---Has the events of streams handled, by one task.
---@param state table of the registration; its name is there
---@param given kubelua.HandlerOptions
---@param streams kubelua.Stream[]
function delivery.begin(state, given, streams)
    state.streams, state.unsynced = streams, #streams
    state.idle, state.has_more = false, false
    state.callbacks = callbacks_of(given)
    state.task = scheduler.task(state.name, serve, state)
    scheduler.leave_scope(state.task) -- it outlives the run that made it
    state.task.serves, state.task.registration = true, streams[1].registration
    state.task.doing = function() return core.registration_doing(state.task.registration) end
    state.wake = function()
        scheduler.wake(state.task)
    end
    local function pull()
        state.has_more = true
        if state.idle then
            state.idle = false
            scheduler.wake(state.task)
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

---True if it has handled all that has come.
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

---Ends it: no callback is called after this.
---@param state table
function delivery.finish(state)
    state.removed = true
    for _, stream in ipairs(state.streams or {}) do
        sources.remove(stream.id)
        core.registration_remove(stream.registration)
    end
end

return delivery
