-- A registration: the callbacks of a script on one informer, or on one informer for each of several
-- namespaces. Takes their events from the core, and calls the callbacks: one at a time, in order,
-- in one task.
local core = require "kubelua.core"
local lines = require "kubelua.log_lines"
local log = require "kubelua.log"
local misuse = require "kubelua.misuse"
local options_of = require "kubelua.options"
local running = require "kubelua.running"
local scheduler = require "kubelua.scheduler"
local sources = require "kubelua.sources"
local tasks = require "kubelua.tasks"
local trace = require "kubelua.trace"

local TYPE = "kubelua.registration"

---@class kubelua.EventStream
---@field registration userdata the core's, with one informer
---@field id integer the poller returns it when there are events
---@field namespace string? if there are several streams

local EVENTS = { "add", "update", "delete", "synced", "error" }

-- A stream delivers at most this many events before the next stream is asked.
local BATCH = 256

-- Seconds until an event is tried again that could not be delivered because memory was short.
local RETRY = 0.1

local registrations = {
    failures = 0, -- errors of handlers
    -- The backlog of handlers that set none. The module kubelua replaces this table with itself:
    -- there scripts set kubelua.backlog.
    defaults = { backlog = 10000 },
}

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
        registrations.failures = registrations.failures + 1
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
    for _, event in ipairs(EVENTS) do
        callbacks[event] = given[event]
    end
    return callbacks
end

---Subscribes to the events of an informer.
---@param informer kubelua.Informer
---@param namespace string? if there are several streams
---@param given kubelua.HandlerOptions
---@param backlog integer
---@return kubelua.EventStream?, string?, string?
local function subscribe(informer, namespace, given, backlog)
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
---@param streams kubelua.EventStream[]
local function begin_delivery(state, given, streams)
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
local function is_at_rest(state)
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
local function finish_delivery(state)
    if state.drains and not state.removed then
        drain_all(state)
    end
    state.removed = true
    for _, stream in ipairs(state.streams or {}) do
        sources.remove(stream.id)
        core.registration_remove(stream.registration)
    end
end

---What informer:on returns.
---@class kubelua.Registration
---@field has_synced fun(self): boolean true once its handler has returned for every initial object
---@field backlog fun(self): integer how many events wait for it
local Registration = core.methods(TYPE)

-- A registration on several informers: a table with the same methods. Its state is under this key.
local STATE = {}
local Several = { __name = TYPE, __metatable = TYPE }
Several.__index = Several

local function state_of(registration)
    local own = type(registration) == "table" and registration[STATE]
    return own or core.state(registration, TYPE)
end

---What informer:on takes: at least one of the callbacks.
---@class kubelua.HandlerOptions
---@field add? fun(object: kubelua.Object, initial: boolean) initial: it existed before the handler
---@field update? fun(old: kubelua.Object, new: kubelua.Object)
---@field delete? fun(object: kubelua.Object, unknown: boolean) unknown: the delete event was missed
---@field synced? fun() called once, after add has returned for every initial object
---@field error? fun(message: string, code: string) why the watch broke; it recovers by itself
---@field resync? number seconds between replays from the cache; default: the informer's
---@field coalesce? boolean false: it gets every change; a slow handler then holds the watch back
---@field backlog? integer how many events may wait before changes are coalesced
---@field name? string used in messages; default: the resource

local TYPES = {
    add = "function", update = "function", delete = "function", synced = "function",
    error = "function", resync = "number", coalesce = "boolean", backlog = "number",
    name = "string",
}

local function check_callbacks(given)
    if type(given) ~= "table" then
        misuse("on: a table of callbacks expected, such as { add = function(object) end }, not a "
            .. type(given))
    end
    options_of.check("on", given, TYPES)
    for _, event in ipairs(EVENTS) do
        if given[event] then
            return
        end
    end
    misuse("on: no callback; give one of " .. table.concat(EVENTS, ", ")
        .. " (is the name of a function mistyped? In Lua it is nil then)")
end

local function backlog_of(given)
    return given.backlog or registrations.defaults.backlog
end

---Registers callbacks. The source of its events keeps the registration alive, and the registration
---keeps its informer alive.
---@param informer kubelua.Informer
---@param of_informer table the informer's state
---@param given kubelua.HandlerOptions
---@return kubelua.Registration?, string?, string?
function registrations.new(informer, of_informer, given)
    check_callbacks(given)
    local stream, message, code = subscribe(informer, nil, given, backlog_of(given))
    if not stream then
        return nil, message, code
    end
    local self = stream.registration
    local state = core.state(self, TYPE)
    state.informer, state.siblings = informer, { of_informer.registrations }
    state.name = given.name or of_informer.what -- used in messages
    begin_delivery(state, given, { stream })
    of_informer.registrations[self] = true
    return self
end

---Registers callbacks on several informers, one for each namespace, as one registration: one call
---at a time; `synced` is called once, after the last informer is synced.
---@param parts { informer: kubelua.Informer, state: table, namespace: string }[]
---@param given kubelua.HandlerOptions
---@return kubelua.Registration?, string?, string?
function registrations.over(parts, given)
    check_callbacks(given)
    local streams, siblings = {}, {}
    for i, part in ipairs(parts) do
        local stream, message, code = subscribe(part.informer, part.namespace, given,
            backlog_of(given))
        if not stream then
            for _, other in ipairs(streams) do
                core.registration_remove(other.registration)
            end
            return nil, message, code
        end
        streams[i], siblings[i] = stream, part.state.registrations
    end
    local state = { informer = parts, siblings = siblings,
        name = given.name or parts[1].state.what }
    local self = setmetatable({ [STATE] = state }, Several)
    begin_delivery(state, given, streams)
    for _, others in ipairs(siblings) do
        others[self] = true
    end
    return self
end

---Ends the registration: no handler starts after this. May be called inside a handler.
function Registration:remove()
    local state = state_of(self)
    if state.removed then
        return
    end
    for _, others in ipairs(state.siblings or {}) do
        others[self] = nil
    end
    finish_delivery(state)
end

Several.remove = Registration.remove

---Makes the end of the registration deliver every event that has arrived until then. For callbacks
---that never wait.
---@param registration kubelua.Registration
function registrations.drain_at_end(registration)
    state_of(registration).drains = true
end

---True if every event that has arrived was handled.
---@param registration kubelua.Registration
---@return boolean
function registrations.is_at_rest(registration)
    return is_at_rest(state_of(registration))
end

---The name of the registration in messages.
---@param registration kubelua.Registration
---@return string
function registrations.name(registration)
    return state_of(registration).name
end

function Several:has_synced()
    for _, stream in ipairs(state_of(self).streams) do
        local has_synced, message, code = stream.registration:has_synced()
        if not has_synced then
            return has_synced, message, code
        end
    end
    return true
end

function Several:backlog()
    local waiting = 0
    for _, stream in ipairs(state_of(self).streams) do
        local count, message, code = stream.registration:backlog()
        if not count then
            return nil, message, code
        end
        waiting = waiting + count
    end
    return waiting
end

function Several:__tostring()
    local state = self[STATE]
    return TYPE .. ": " .. state.name .. (state.removed and " (removed)" or "")
end

return registrations
