-- Turns the events of a controller's sources into keys in its queue. If a function of the script
-- (map or when) raises, the event is kept, and tried again.
local cache_of = require "kubelua.controller.cache_of"
local call_script = require "kubelua.controller.call_script"
local core = require "kubelua.core"
local fights = require "kubelua.controller.fights"
local lines = require "kubelua.log_lines"
local mapping = require "kubelua.controller.mapping"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"
local sorted_keys = require "kubelua.sorted_keys"

local triggers = {}

-- Returns what is wrong with a key that map returned.
local function add_keys(state, self, keys, object)
    if self.role == "owns" then
        return mapping.owners(keys, state.main.informer, object, self.any_owner)
    end
    return mapping.collect(keys, state.main and cache_of.kind_of(state.main),
        call_script("map of " .. state.what, self.map, object, state.map_run))
end

local function check_when(state, self, old, new)
    if not self.when then
        return true
    end
    return mapping.passes(function()
        return call_script("when of " .. state.what, self.when, old, new)
    end, old, new)
end

-- An event of the object itself ends its backoff; but not the event of a write by a run of its key.
local function queue_own(state, object, is_rear, is_change)
    if is_change and state.writes:is_own(object.key, object) then
        state:add_related(object.key, is_rear)
    else
        state:add(object.key, is_rear)
    end
end

-- Only `old`: the object was deleted; only `new`: it was added. The keys of a resync come after all
-- others.
local function handle_event(state, self, event)
    local old, new = event.old, event.new
    if old and new and not event.is_coalesced and not check_when(state, self, old, new) then
        return
    end
    local is_resync = old and new and old.resource_version == new.resource_version
    local is_rear = event.is_initial or is_resync or false
    if self.role == "reconciles" then
        if state.sharding and not new then
            state.sharding:note_deleted(old)
        end
        queue_own(state, new or old, is_rear, new ~= nil)
        fights.note_event(state, self, (new or old).key, old, new)
        return
    end
    local keys = {}
    local problem = old and add_keys(state, self, keys, old)
    problem = new and add_keys(state, self, keys, new) or problem
    for key in pairs(keys) do
        state:add_related(key, is_rear)
        fights.note_event(state, self, key, old, new)
    end
    if problem then
        error(problem, 0)
    end
end

-- Seconds until an event is tried again after map or when raised; later attempts have a backoff.
local PAUSE = 0.1

local function tell_refusal(state, self, event, problem)
    lines.of_controller("error", state, nil, "the event of %s failed, and is tried again: %s",
        tostring(event.new or event.old), problem)
    self.failures = (self.failures or 0) + 1
end

---Handles an event. If that raises, the event is kept and tried again. Later events of its object
---are coalesced into it: one event from the oldest state to the newest.
---@param state kubelua.controller.State
---@param self kubelua.controller.Source
---@param event { old: kubelua.Object?, new: kubelua.Object?, is_initial: boolean? }
function triggers.deliver(state, self, event)
    local key = (event.new or event.old).key
    local earlier = self.refused[key]
    if earlier then
        event = { old = earlier.old or event.old, new = event.new, is_coalesced = true,
            is_initial = event.is_initial }
        self.refused[key] = event
    end
    local ok, problem = pcall(handle_event, state, self, event)
    if ok then
        self.refused[key] = nil
    elseif not earlier then
        tell_refusal(state, self, event, problem)
        self.refused[key] = event
        state.retries:add_after(self.number .. " " .. key, PAUSE)
    end
end

local function retry_event(state, id)
    local number, key = id:match("^(%d+) (.*)$")
    local self = state.in_order[tonumber(number)]
    local event = self.refused[key]
    if not event then
        return "done"
    end
    local ok, problem = pcall(handle_event, state, self, event)
    if ok then
        self.refused[key] = nil
        return "done"
    end
    lines.of_controller("debug", state, nil, "the event of %s failed again: %s",
        tostring(event.new or event.old), problem)
    return "failed"
end

---Tries the events again that are due.
---@param state kubelua.controller.State
function triggers.retry_due(state)
    local id = state.retries:next()
    while id do
        state.retries:done(id, retry_event(state, id))
        id = state.retries:next()
    end
end

-- The object was not deleted: it is of another member's share now.
local function leave_share(state, self, object)
    self.refused[object.key] = nil
    if state.sharding and self.role == "reconciles" then
        state.sharding:note_left(object)
    end
end

---Listens to the events of a source, except of `reads`, which trigger nothing.
---@param state kubelua.controller.State
---@param self kubelua.controller.Source
---@return true?, string?, string?
function triggers.listen(state, self)
    if self.role == "reads" then
        return true
    end
    local registration, message, code = self.informer:on {
        name = state.what .. ": " .. self.name,
        add = function(object, initial)
            triggers.deliver(state, self, { new = object, is_initial = initial })
        end,
        update = function(old, new)
            triggers.deliver(state, self, { old = old, new = new })
        end,
        delete = function(object, why)
            if why == "left" then
                return leave_share(state, self, object)
            end
            triggers.deliver(state, self, { old = object })
        end,
        synced = function()
            self.is_mapped = true
            state.wake()
        end,
    }
    self.registration = registration
    return registration and true, message, code
end

-- kubelua.changed: makes a function for `when`, which selects the updates that matter.
--
-- Short names for common fields.
local SHORT = {
    generation = "metadata.generation", labels = "metadata.labels",
    annotations = "metadata.annotations", finalizers = "metadata.finalizers",
    owners = "metadata.ownerReferences", spec = "spec", status = "status", data = "data",
}

-- A path is tried on this object, to check it. Nothing keeps the object.
local PROBE = '{"kind":"Probe","apiVersion":"v1","metadata":{"name":"a"}}'

local function check_path(name)
    if type(name) ~= "string" then
        misuse("kubelua.changed: the names of fields expected, such as \"generation\", not a %s",
            type(name))
    elseif SHORT[name] then
        return SHORT[name]
    elseif name:find("^[%a]+$") then
        local words = sorted_keys(SHORT)
        local nearest = options.nearest(name, words)
        misuse("kubelua.changed: there is no '%s'; %suse %s, or a path such as \"spec.replicas\"",
            name, nearest and "do you mean '" .. nearest .. "'? or " or "",
            table.concat(words, ", "))
    end
    local ok, problem = pcall(core.get, assert(core.object(PROBE)), name)
    if not ok then
        misuse("kubelua.changed: %s", (tostring(problem):gsub("^[^\n]-:%d+: ", "")))
    end
    return name
end

-- Parts of objects are equal if their JSON is; the order of fields does not matter.
local function is_equal(a, b)
    if type(a) ~= "userdata" or type(b) ~= "userdata" then
        return a == b
    end
    return core.hash(a) == core.hash(b)
end

---For `when`: true if an update changes one of these: generation, labels, annotations, finalizers,
---owners, spec, status, data, or the value at a path such as "spec.replicas". If objects of a kind
---have no generation, "generation" is true for every update.
---@param ... string
---@return fun(old: kubelua.Object, new: kubelua.Object): boolean
function triggers.changed(...)
    local paths, counts_generation = {}, false
    for i = 1, select("#", ...) do
        paths[i] = check_path((select(i, ...)))
        counts_generation = counts_generation or paths[i] == SHORT.generation
    end
    if #paths == 0 then
        misuse("kubelua.changed: which fields? For example kubelua.changed(\"generation\")")
    end
    return function(old, new)
        if counts_generation and new:get(SHORT.generation) == nil then
            return true
        end
        for _, path in ipairs(paths) do
            if not is_equal(old:get(path), new:get(path)) then
                return true
            end
        end
        return false
    end
end

return triggers
