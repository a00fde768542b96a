-- kubelua.controller: calls a function, reconcile, for each object that changed, until the cluster
-- is as the object says. This file is what scripts see; the files in controller/ do the work.
local cache_of = require "kubelua.controller.cache_of"
local clients = require "kubelua.client"
local core = require "kubelua.core"
local here = require "kubelua.fleet.here"
local loop = require "kubelua.loop"
local mapping = require "kubelua.controller.mapping"
local misuse = require "kubelua.misuse"
local options_of = require "kubelua.controller.options"
local source = require "kubelua.controller.source"
local State = require "kubelua.controller.state"

---What kubelua.controller returns.
---@class kubelua.Controller
local Controller = {}
Controller.__index = Controller
Controller.__name = "kubelua.controller"

-- The state of each controller. Scripts cannot reach it.
local states = setmetatable({}, { __mode = "k" })

local function state_of(self)
    local state = states[self]
    if not state then
        misuse("a controller expected, not a %s: call its methods with a colon, as in "
            .. "controller:stop()", type(self))
    end
    return state
end

function Controller:__tostring()
    return "kubelua." .. state_of(self).what
end

---Stops the controller: no run begins after this, and the current runs are cancelled. May be called
---inside reconcile.
function Controller:stop()
    state_of(self):stop()
end

local function has_synced(state)
    return state.is_listed and state.unhandled_count == 0
        and (not state.sharding or state.sharding:check_share() and state.sharding:is_at_work())
end

---True once a run of every key of the first lists has ended, with success or with a failure.
---@return boolean
function Controller:has_synced()
    return has_synced(state_of(self))
end

---Adds a key to the queue, as an event does: at once, or in so many seconds. This replaces the time
---of a later run that was asked for before.
---@param key string|kubelua.Object
---@param seconds number?
---@return true?, string?, string?
function Controller:enqueue(key, seconds)
    local state = state_of(self)
    local kind, given = state.main and cache_of.kind_of(state.main), key
    key = mapping.check_enqueued(kind, given)
    if state.main and not kind then
        state.early[key] = { value = given, where = core.script_line() }
    end
    if seconds == nil then
        return state:add(key)
    elseif type(seconds) ~= "number" or seconds ~= seconds or math.abs(seconds) == math.huge then
        misuse("enqueue: the time must be a number of seconds, not %s", tostring(seconds))
    end
    if state.sharding then
        state.sharding:note_key(key)
    end
    return state.queue:add_after(key, seconds)
end

---@class kubelua.ControllerStatus
---@field name string
---@field state "starting"|"standby"|"running"|"stopping"|"stopped"
---@field has_synced boolean
---@field queue { waiting: integer, waiting_rear: integer, in_progress: integer, delayed: integer,
---failing: integer, adds: integer, retries: integer, oldest_wait: number }
---@field running { key: string, seconds: number, attempt: integer }[] sorted by key
---@field failures { key: string, message: string, code: string?, attempt: integer }[] sorted by key
---@field dropped_writes integer failed writes whose results were dropped: their runs ended as done
---@field sources { name: string, role: string, has_synced: boolean, objects: integer,
---error: string?, code: string? }[]
---@field leader kubelua.LeaderStatus?
---@field shards kubelua.ShardsStatus?

local function sort_by_key(list)
    table.sort(list, function(a, b) return a.key < b.key end)
    return list
end

local function list_runs(state)
    local list, now = {}, state.clock:now()
    for key, record in pairs(state.runs) do
        list[#list + 1] = { key = key, seconds = now - record.since, attempt = record.item.attempt }
    end
    return sort_by_key(list)
end

local function list_failures(state)
    local list = {}
    for key, failing in pairs(state.failing) do
        list[#list + 1] = { key = key, message = failing.message, code = failing.code,
            attempt = failing.attempt }
    end
    return sort_by_key(list)
end

local function list_sources(state)
    local list = {}
    for i, one in ipairs(state.in_order) do
        list[i] = source.status(one)
        list[i].name, list[i].role = one.name, one.role
    end
    return list
end

local function name_stage(state)
    if state.is_stopped then
        return state.is_over and "stopped" or "stopping"
    elseif not state.is_listed then
        return "starting"
    end
    return state:is_at_work() and "running" or "standby"
end

local controllers = {
    -- The states of all controllers that have started: a weak set, for the command.
    started = setmetatable({}, { __mode = "k" }), ---@type table<kubelua.controller.State, true>
}

---The status of a controller, by its state.
---@param state kubelua.controller.State
---@return kubelua.ControllerStatus
function controllers.status(state)
    return { name = state.name, state = name_stage(state), has_synced = has_synced(state),
        queue = state.queue:status(), running = list_runs(state), failures = list_failures(state),
        dropped_writes = state.dropped.count, sources = list_sources(state),
        leader = state.leader and state.leader.status(),
        shards = state.sharding and state.sharding.membership
            and state.sharding.membership:status() or nil }
end

---The state of the controller: what it waits for, its queue, its runs, its failures.
---@return kubelua.ControllerStatus
function Controller:status()
    return controllers.status(state_of(self))
end

-- A state that has started; nil, message, code: the configuration, or the server's kind, does not
-- fit. Raises if the script's options are wrong.
local function start_state(options, list, where)
    local client, state, ok, message, code
    client = options.client
    if not client then
        client, message, code = clients.connect()
        if not client then
            return nil, message, code
        end
    end
    state, message, code = State.new(client, options, list, where)
    if not state then
        return nil, message, code
    end
    ok, message, code = state:start()
    if not ok and code == "invalid_argument" then
        misuse("controller: %s", message)
    end
    return ok and state or nil, message, code
end

---Starts a controller. It works by itself, once all its caches have synced. Raises if an option is
---wrong. nil, message, code: it can never work, which is logged too, and the run ends with a
---failure.
---@param given kubelua.ControllerOptions
---@return kubelua.Controller?, string?, string?
function controllers.new(given)
    local where = core.script_line()
    local options, list = options_of.read(given)
    local state, message, code = start_state(options, list, where)
    local life = here.life()
    if not state then
        local add = life and function(...) life:add_hopeless(...) end or loop.add_hopeless
        add(where, "controller " .. options.name, message)
        return nil, message, code
    end
    controllers.started[state] = true
    if life then
        life:add_controller(state)
    end
    local self = setmetatable({}, Controller)
    states[self] = state
    return self
end

return controllers
