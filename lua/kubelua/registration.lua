-- A registration: the callbacks of a script on one informer, or on one informer for each of several
-- namespaces. delivery.lua calls them.
local core = require "kubelua.core"
local deliveries = require "kubelua.delivery"
local here = require "kubelua.fleet.here"
local misuse = require "kubelua.misuse"
local options_of = require "kubelua.options"
local scripts = require "kubelua.script"
local sources = require "kubelua.sources"
local tasks = require "kubelua.tasks"

local TYPE = "kubelua.registration"

local registrations = {
    -- The backlog of handlers that set none. The module kubelua replaces this table with itself:
    -- there scripts set kubelua.backlog.
    defaults = { backlog = 10000 },
}

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
        takes_over = scripts.before() ~= nil,
    })
    if not registration then
        return nil, message, code
    end
    return { registration = registration, id = id, namespace = namespace }
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
---@field delete? fun(object: kubelua.Object, unknown: boolean|"left") unknown: the delete event was
---missed; "left": the object is not of the informer's new shard, and may still exist
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
    for _, event in ipairs(deliveries.EVENTS) do
        if given[event] then
            return
        end
    end
    misuse("on: no callback; give one of " .. table.concat(deliveries.EVENTS, ", ")
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
    deliveries.begin(state, given, { stream })
    of_informer.registrations[self] = true
    here.own(self, Registration.remove)
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
    deliveries.begin(state, given, streams)
    for _, others in ipairs(siblings) do
        others[self] = true
    end
    here.own(self, Registration.remove)
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
    deliveries.finish(state)
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
    return deliveries.is_at_rest(state_of(registration))
end

---What delivers its events, for delivery.lua.
---@param registration kubelua.Registration
---@return table
function registrations.delivery(registration)
    return state_of(registration)
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
