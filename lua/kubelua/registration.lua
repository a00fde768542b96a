-- A registration of callbacks with an informer: pulls its events, and runs them one at a time and
-- in order in a coroutine of its own.
local core = require "kubelua.core"
local log = require "kubelua.log"
local misuse = require "kubelua.misuse"
local options_of = require "kubelua.options"
local running = require "kubelua.running"
local scheduler = require "kubelua.scheduler"
local sources = require "kubelua.sources"
local trace = require "kubelua.trace"

local TYPE = "kubelua.registration"

---What informer:on returns.
---@class kubelua.Registration
---@field has_synced fun(self): boolean its handler has returned from every initial object
---@field backlog fun(self): integer how many events wait for it
local Registration = core.methods(TYPE)

---What informer:on takes: any of the callbacks, one at least.
---@class kubelua.HandlerOptions
---@field add? fun(object: kubelua.Object, initial: boolean) initial: it was there before
---@field update? fun(old: kubelua.Object, new: kubelua.Object)
---@field delete? fun(object: kubelua.Object, unknown: boolean) unknown: the delete was missed
---@field synced? fun() once: add has returned for every initial object
---@field error? fun(message: string, code: string) why the stream broke; it recovers by itself
---@field resync? number seconds between replays from the cache; default: the informer's
---@field coalesce? boolean false: every change is told, and a slow handler holds the watch back
---@field backlog? integer how many events may wait before changes are merged
---@field name? string in messages; default: the resource
local TYPES = {
    add = "function", update = "function", delete = "function", synced = "function",
    error = "function", resync = "number", coalesce = "boolean", backlog = "number",
    name = "string",
}

local EVENTS = { "add", "update", "delete", "synced", "error" }

local registrations = {
    -- The backlog of handlers that set none. The module kubelua puts itself here: scripts set it
    -- there.
    defaults = { backlog = 10000 },
}

-- Events that one registration handles before the others get their turn.
local BATCH = 256

-- Seconds until what lacked memory is tried again.
local RETRY = 0.1

local next_event = core.registration_next

local function check(given)
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
        .. " (a function whose name is mistyped is nil, as if it were not there)")
end

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

-- Handles one event; false if none waits. The next one gives it back.
local function handle_next(self, state)
    local event, a, b = next_event(self)
    if not event then
        return false
    end
    handle(state, event, a, b)
    return true
end

local function handle_some(self, state)
    local handled = 0
    while handled < BATCH and not state.removed and not state.task.is_ended
        and handle_next(self, state) do
        handled = handled + 1
    end
    if (handled == BATCH or state.task.is_ended) and not state.removed then
        core.registration_again(self, scheduler.poller)
    end
end

-- An event could not even be told, for want of memory: it still waits, and is told a little later.
local function try_later(self, state, problem)
    pcall(log, "error", "%s: %s; tried again", state.name, problem)
    local is_set = pcall(scheduler.at, core.now() + RETRY, state.wake)
    if not is_set then
        core.registration_again(self, scheduler.poller)
    end
    state.idle = not is_set
end

-- The body of the registration's coroutine. It parks when nothing waits; `idle` says so.
local function serve(self, state)
    while not state.removed do
        local ok, problem = pcall(handle_some, self, state)
        state.idle = true
        if not ok and not state.removed then
            try_later(self, state, problem)
        end
        scheduler.rest()
    end
end

local function callbacks_of(given)
    local callbacks = {}
    for _, event in ipairs(EVENTS) do
        callbacks[event] = given[event]
    end
    return callbacks
end

---Registers callbacks; what pulls its events keeps it, and it keeps its informer.
---@param informer kubelua.Informer
---@param of_informer table the informer's state
---@param given kubelua.HandlerOptions
---@return kubelua.Registration?, string?, string?
function registrations.new(informer, of_informer, given)
    check(given)
    local id = sources.new_id()
    local self, message, code = core.subscribe(informer, scheduler.poller, id, {
        name = given.name,
        resync = given.resync,
        every_change = given.coalesce == false,
        quiet = given.error == nil,
        backlog = given.backlog or registrations.defaults.backlog,
    })
    if not self then
        return nil, message, code
    end
    local state = core.state(self, TYPE)
    state.informer, state.siblings = informer, of_informer.registrations
    state.id, state.idle = id, false
    state.name = given.name or of_informer.what -- in messages
    state.callbacks = callbacks_of(given)
    for event, callback in pairs(state.callbacks) do
        core.registration_name(self, event,
            running.name(state.name .. ": handler of " .. event, callback))
    end
    state.task = scheduler.task(state.name, serve, self, state)
    state.task.serves, state.task.registration = true, self
    scheduler.leave_scope(state.task) -- it outlives the run that made it
    state.task.doing = function() return core.registration_doing(self) end
    state.wake = function()
        scheduler.wake(state.task)
    end
    sources.add(id, function()
        if state.idle then
            state.idle = false
            scheduler.wake(state.task)
        end
    end)
    state.siblings[self] = true
    return self
end

---Ends it: no handler of it starts after this. May be called inside a handler.
function Registration:remove()
    local state = core.state(self, TYPE)
    if not state.removed then
        state.removed = true
        if state.id then
            sources.remove(state.id)
            state.siblings[self] = nil
        end
        core.registration_remove(self)
    end
end

return registrations
