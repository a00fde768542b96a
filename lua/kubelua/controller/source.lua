-- The sources of a controller: one informer for each resource that it reconciles, owns, watches or
-- reads. triggers.lua turns their events into keys.
local clients = require "kubelua.client"
local core = require "kubelua.core"
local finalizer = require "kubelua.controller.finalizer"
local lines = require "kubelua.log_lines"
local scheduler = require "kubelua.scheduler"
local tasks = require "kubelua.tasks"
local triggers = require "kubelua.controller.triggers"
local verbs = require "kubelua.verbs"
local waiting = require "kubelua.waiting"

---@class kubelua.controller.Source
---@field role "reconciles"|"owns"|"watches"|"reads"
---@field name string its name in run:get
---@field resource string as the script wrote it
---@field given kubelua.InformerOptions
---@field when function?
---@field map function?
---@field any_owner boolean
---@field metadata boolean
---@field informer kubelua.Informer nil: its kind was not found yet
---@field request table? the options of the informer, once they were asked for
---@field kind kubelua.Kind? once it is found
---@field share kubelua.controller.Share?
---@field share_by string? its informer has a share of the objects: see share.lua
---@field task kubelua.Task? the task that opens it, and waits for its first list
---@field problem { message: string, code: string? }? why it is not open
---@field number integer
---@field refused table<string, table> by key: events that will be tried again: { old, new }
---@field is_mapped boolean every event of its first list was handled

local source = {}

-- Seconds between two questions for a kind: doubles, from the first to the longest.
local FIRST_PAUSE, LONGEST_PAUSE = 1, 30

-- Opens the informer of a source. If discovery has found the kind, its version stays. The namespace
-- defaults to the controller's.
local function open_informer(state, self)
    local given, scope = {}, state.options.namespace
    for name, value in pairs(self.given) do
        given[name] = value
    end
    local kind = self.kind
    if kind then
        given[1] = kind.group == "" and kind.api_version .. "/" .. kind.kind
            or kind.plural .. "." .. kind.version .. "." .. kind.group
        scope = kind.namespaced and scope or nil
    end
    if state.sharding then
        state.sharding.share:narrow(self, given)
    end
    local message, code
    self.informer, message, code = clients.informer(state.client, given, scope)
    return self.informer and true, message, code
end

-- map may read every cache, so events are taken only once all informers are open.
local function listen_if_open(state)
    for _, self in ipairs(state.in_order) do
        if not self.informer then
            return true
        end
    end
    for _, self in ipairs(state.in_order) do
        local ok, message, code = triggers.listen(state, self)
        if not ok then
            return nil, message, code
        end
    end
    return finalizer.watch_unselected(state)
end

-- Finds the kind of a source: the version that discovery prefers now, until the controller ends.
-- nil: the controller was stopped before the kind was found.
local function find_kind(state, self)
    local pause = FIRST_PAUSE
    while not state.is_stopped do
        local kind, message, code = verbs.kind(state.client, self.resource)
        if kind then
            self.kind, self.problem = kind, nil
            return kind
        elseif not self.problem or self.problem.message ~= message then
            lines.of_controller("warn", state, nil, "%s: %s; the controller waits until it is "
                .. "there", self.name, message)
            self.problem = { message = message, code = code }
        end
        waiting.sleep(pause)
        pause = math.min(pause * 2, LONGEST_PAUSE)
    end
end

-- What is wrong with the options of a source shows only now, because its kind was not known before.
local function open_and_listen(state, self)
    local kind, namespace = self.kind, self.given.namespace
    if not kind.namespaced and namespace ~= nil and namespace ~= "*" then
        return nil, string.format("%s (%s) have no namespace: leave `namespace` out", kind.plural,
            kind.kind), "invalid_argument"
    end
    local ok, message, code = open_informer(state, self)
    if not ok then
        return nil, message, code
    end
    return listen_if_open(state)
end

-- True if its informer depends on the kind of the reconciled objects, which is not known yet.
local function needs_kind(state, self)
    return state.sharding ~= nil and state.sharding.share:needs_kind(self)
end

-- Finds the kind of a source, then opens its informer.
local function open_late(state, self)
    if needs_kind(state, self) then
        find_kind(state, state.main)
    end
    if not find_kind(state, self) or state.is_stopped then
        return nil
    end
    local has_returned, ok, message, code = pcall(open_and_listen, state, self)
    if not has_returned then -- misuse: an index that `drop` would leave empty
        ok, message, code = nil, tostring(ok), "invalid_argument"
    end
    if not ok then
        self.problem = { message = message, code = code }
        state:fail(self.name .. ": " .. message)
    end
    return ok
end

-- Waits until the cache has its first list, or never will.
local function open_and_wait(state, self)
    if not self.informer and not open_late(state, self) then
        return
    end
    if self.informer:wait_synced() and not self.kind then
        find_kind(state, self)
    end
    if self.role == "reconciles" then
        state.kind = self.kind
    end
    state.wake()
end

---Opens the informers of all sources. For custom resources this is done later, once their kind is
---found.
---@param state kubelua.controller.State
---@return true?, string?, string?
function source.open_all(state)
    for number, self in ipairs(state.in_order) do
        self.number, self.refused, self.is_mapped = number, {}, false
        if core.builtin_kind(self.resource) and not needs_kind(state, self) then
            local ok, message, code = open_informer(state, self)
            if not ok then
                return nil, message, code
            end
        end
    end
    return listen_if_open(state)
end

---Opens the other sources, and wakes the controller when its caches have synced.
---@param state kubelua.controller.State
function source.await_all(state)
    for _, self in ipairs(state.in_order) do
        local task = tasks.task(state.what .. ": " .. self.name, open_and_wait, state, self)
        task.clock = scheduler.machine
        task.doing, task.outlasts = function() end, true
        tasks.leave_scope(task)
        self.task = task
    end
end

---Stops all sources.
---@param state kubelua.controller.State
function source.close_all(state)
    for _, self in ipairs(state.in_order) do
        if self.task then
            self.task:cancel()
        end
        if self.informer then
            self.informer:stop()
        end
    end
    if state.unselected then
        state.unselected:stop()
    end
end

---The state of the cache of a source.
---@param self kubelua.controller.Source
---@return { has_synced: boolean, objects: integer, error: string?, code: string? }
function source.status(self)
    local status = self.informer and self.informer:status() or { has_synced = false }
    local problem = self.problem or {}
    return { has_synced = status.has_synced, objects = status.objects or 0,
        error = status.error or problem.message,
        code = status.code or problem.code }
end

---True once the first list is in the cache, and mapped to keys.
---@param self kubelua.controller.Source
---@return boolean
function source.is_ready(self)
    return self.kind ~= nil and self.informer ~= nil and self.informer:has_synced()
        and (self.role == "reads" or self.is_mapped)
end

return source
