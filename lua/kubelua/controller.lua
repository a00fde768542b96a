-- kubelua.controller: brings the world to what objects say. What scripts see of it; its inside is
-- in controller/.
local clients = require "kubelua.client"
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

-- The inside of each; no script gets hold of it.
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

---Ends it: no run begins after this, and the runs that there are end. May be called inside
---reconcile.
function Controller:stop()
    state_of(self):stop()
end

---True once every key of the first lists has been handled once.
---@return boolean
function Controller:has_synced()
    local state = state_of(self)
    return state.is_listed and state.unhandled_count == 0
end

---Reconciles a key, as if an event had come: at once, or in so many seconds, instead of when a
---later run was asked for last.
---@param key string|kubelua.Object
---@param seconds number?
---@return true?, string?, string?
function Controller:enqueue(key, seconds)
    local state = state_of(self)
    key = mapping.check_enqueued(key)
    if seconds == nil then
        return state:add(key)
    elseif type(seconds) ~= "number" or seconds ~= seconds or math.abs(seconds) == math.huge then
        misuse("enqueue: the time must be a number of seconds, not %s", tostring(seconds))
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
---@field sources { name: string, role: string, has_synced: boolean, error: string?,
---code: string? }[]
---@field leader table?

local function sorted(list)
    table.sort(list, function(a, b) return a.key < b.key end)
    return list
end

local function runs_of(state)
    local list, now = {}, state.clock:now()
    for key, record in pairs(state.runs) do
        list[#list + 1] = { key = key, seconds = now - record.since, attempt = record.item.attempt }
    end
    return sorted(list)
end

local function failures_of(state)
    local list = {}
    for key, failing in pairs(state.failing) do
        list[#list + 1] = { key = key, message = failing.message, code = failing.code,
            attempt = failing.attempt }
    end
    return sorted(list)
end

local function sources_of(state)
    local list = {}
    for i, one in ipairs(state.in_order) do
        list[i] = source.status(one)
        list[i].name, list[i].role = one.name, one.role
    end
    return list
end

local function stage_of(state)
    if state.is_stopped then
        return state.is_over and "stopped" or "stopping"
    elseif not state.is_listed then
        return "starting"
    end
    return state:may_run() and "running" or "standby"
end

---How it is: what it waits for, what is queued, what runs, what fails.
---@return kubelua.ControllerStatus
function Controller:status()
    local state = state_of(self)
    return { name = state.name, state = stage_of(state), has_synced = self:has_synced(),
        queue = state.queue:status(), running = runs_of(state), failures = failures_of(state),
        sources = sources_of(state), leader = state.leader and state.leader.status() }
end

local controllers = {}

---Starts a controller. It begins by itself: nothing is reconciled before all of its caches have
---synced. nil, message, code: it can never work.
---@param given kubelua.ControllerOptions
---@return kubelua.Controller?, string?, string?
function controllers.new(given)
    local options, list = options_of.read(given)
    local client, state, ok, message, code
    client = options.client
    if not client then
        client, message, code = clients.connect()
        if not client then
            return nil, message, code
        end
    end
    state, message, code = State.new(client, options, list)
    if not state then
        return nil, message, code
    end
    ok, message, code = state:start()
    if not ok then
        return nil, message, code
    end
    local self = setmetatable({}, Controller)
    states[self] = state
    return self
end

return controllers
