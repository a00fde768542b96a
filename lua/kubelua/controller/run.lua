-- What reconcile gets beside the object: a run of one key. It reads the controller's caches, never
-- older than what the controller wrote, and writes.
local change = require "kubelua.controller.change"
local events = require "kubelua.controller.run_events"
local failures = require "kubelua.failures"
local held = require "kubelua.controller.held"
local log = require "kubelua.log"
local memos = require "kubelua.controller.memos"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"
local reach = require "kubelua.controller.reach"
local status = require "kubelua.controller.status"
local write = require "kubelua.controller.write"

---What reconcile, finalize and gone get: one run of one key.
---@class kubelua.Run
---@field key string
---@field attempt integer 1, and 1 more for each failure in a row before
---@field due number? Unix time of the later run that was asked for last
---@field client kubelua.Client
---@field memo table of this key and UID, for the life of the process
---@field log fun(level: "debug"|"info"|"warn"|"error", message: string, ...)
local methods = {}

-- What of a run is not the script's: its state and object.
local INSIDE = {}

local FIELDS = { key = true, attempt = true, due = true, client = true, memo = true, log = true }

-- Made when the script asks for it, and the same from then on.
local function memo_of(self)
    local own = rawget(self, INSIDE)
    local memo = own and own.key and memos.of_run(own)
    rawset(self, "memo", memo or nil)
    return memo or nil
end

local Run = { __name = "kubelua.Run" }

-- A mistyped method is told at the script's line.
function Run.__index(self, name)
    if name == "memo" then
        return memo_of(self)
    end
    local method = methods[name]
    if method or FIELDS[name] or type(name) ~= "string" then
        return method
    end
    local names = options.names(FIELDS)
    for _, each in ipairs(options.names(methods)) do
        names[#names + 1] = each
    end
    local nearest = options.nearest(name, names)
    misuse("a run has no '%s'%s", name, nearest and "; do you mean '" .. nearest .. "'?"
        or ": it has " .. table.concat(names, ", "))
end

function Run.__tostring(self)
    return "run of " .. tostring(self.key)
end

local runs = {}

---@param state kubelua.controller.State
---@param key string? nil: of no key, for a map, which reads caches as they are
---@param object kubelua.Object?
---@param item { attempt: integer, due: number? }?
---@return kubelua.Run
function runs.new(state, key, object, item)
    return setmetatable({
        [INSIDE] = { state = state, key = key, object = object, term = state.terms },
        key = key, client = state.client, attempt = item and item.attempt, due = item and item.due,
        log = function(level, message, ...)
            log(level, (state.what .. ": " .. (key and key .. ": " or "")):gsub("%%", "%%%%")
                .. message, ...)
        end,
    }, Run)
end

---The object of the run is this by now.
---@param self kubelua.Run
---@param object kubelua.Object
function runs.renew(self, object)
    self[INSIDE].object = object
end

---What modules of KubeLua need to know of a run.
---@param self kubelua.Run
---@return { state: kubelua.controller.State, key: string?, object: kubelua.Object? }
local function inside(self)
    local found = type(self) == "table" and rawget(self, INSIDE)
    if not found then
        misuse("a run expected, not a %s: call its methods with a colon, as in run:get(...)",
            type(self))
    end
    return found
end

-- The cache of a source, once it holds what was written.
local function cache(self, call, name, filter)
    local own = inside(self)
    local source = reach.find(own.state, call, name)
    if own.key then
        local ok, message, code = own.state.written:wait(call, source, filter)
        if not ok then
            failures.note(nil, message, code)
            error(message, 0) -- what is older than its writes is never read
        end
    end
    return source.informer, source
end

---An object of a declared cache; nil: it does not have it.
---@param source string as declared
---@param key string "namespace/name", or "name" of a kind without namespaces
---@param name string? then the key is the namespace
---@return kubelua.Object?
function methods:get(source, key, name)
    if type(key) ~= "string" or (name ~= nil and type(name) ~= "string") then
        misuse("run:get: write run:get(\"%s\", \"namespace/name\")", tostring(source))
    end
    local of_object = name and key .. "/" .. name or key
    return cache(self, "run:get", source, { key = of_object }):get(of_object)
end

---The objects of a declared cache, sorted by key.
---@param source string as declared
---@param filter kubelua.Filter?
---@return kubelua.Object[] # or nil, message, code where the filter cannot be
function methods:list(source, filter)
    local namespace = type(filter) == "table" and filter.namespace or nil
    local informer = cache(self, "run:list", source,
        { namespace = namespace ~= "*" and namespace or nil })
    return informer:list(filter)
end

---What an index of a declared cache holds under a value, sorted by key.
---@param source string as declared
---@param index string
---@param value string|number|boolean
---@return kubelua.Object[]
function methods:by(source, index, value)
    return cache(self, "run:by", source, {}):by(index, value)
end

local OWNER_INDEX = "kubelua/owner"

---What the object of this run controls, by controller references, sorted by key.
---@param source string as declared
---@return kubelua.Object[]
function methods:owned(source)
    local object = inside(self).object
    if not object then
        misuse("run:owned: this run has no object that could own something")
    end
    local informer, found = cache(self, "run:owned", source, { owner = object.uid })
    if not found.has_owner_index then
        assert(informer:index(OWNER_INDEX, "metadata.ownerReferences[*].uid"))
        found.has_owner_index = true
    end
    local owned = {}
    for _, one in ipairs(assert(informer:by(OWNER_INDEX, object.uid))) do
        if held.controller_of(one) == object.uid then
            owned[#owned + 1] = one
        end
    end
    return owned
end

---Creates an object that the run's object controls. An object that is there: "already_exists", or
---"not_owned" where another, or nothing, controls it.
---@param object table|string the text: of one YAML or JSON document
---@param given kubelua.RunCreateOptions?
---@return kubelua.Object?, string?, string?, number?
function methods:create(object, given)
    return write.create(inside(self), object, given)
end

---Server-side apply of an object that the run's object controls.
---@param object table|string what the controller owns of it; not what it has read
---@param given kubelua.RunApplyOptions?
---@return kubelua.Object?, string?, string?, number?
function methods:apply(object, given)
    return write.apply(inside(self), object, given)
end

---Changes a part of the run's object: patch { ... }; or of another one.
---@param ... any target, patch, kubelua.RunPatchOptions
---@return kubelua.Object?, string?, string?, number?
---@overload fun(self, patch: table, options: kubelua.RunPatchOptions?): kubelua.Object?
---@overload fun(self, object: table, patch: any, o: kubelua.RunPatchOptions?): any
---@overload fun(self, resource: string, key: string, patch: any, o: kubelua.RunPatchOptions?): any
function methods:patch(...)
    return change.patch(inside(self), ...)
end

---Deletes an object. True as well if it is gone, or is another one by now.
---@param ... any target, kubelua.RunDeleteOptions
---@return kubelua.Object|true|nil, string?, string?, number?
---@overload fun(self, object: table, options: kubelua.RunDeleteOptions?): any
---@overload fun(self, resource: string, key: string, options: kubelua.RunDeleteOptions?): any
function methods:delete(...)
    return change.delete(inside(self), ...)
end

---Evicts a pod, if its PodDisruptionBudget allows. True as well if it is gone, or is another one.
---@param pod string|kubelua.Object its key, or itself
---@param given kubelua.EvictOptions?
---@return true?, string?, string?, number?
function methods:evict(pod, given)
    return change.evict(inside(self), pod, given)
end

---Writes status fields: of the run's object, status { ... }; or of another one. Each field that is
---named becomes exactly this; nothing is sent where nothing changes.
---@param ... any object, fields, kubelua.RunStatusOptions
---@return kubelua.Object?, string?, string?, number?
---@overload fun(self, fields: table, options: kubelua.RunStatusOptions?): kubelua.Object?
---@overload fun(self, object: table, fields: table, o: kubelua.RunStatusOptions?): any
function methods:status(...)
    return status.write(inside(self), ...)
end

---Records an event of the run's object, or of another one. It never waits and never fails.
---@param kind "Normal"|"Warning"
---@param reason string "Created"
---@param message string
---@param object kubelua.Object?
function methods:event(kind, reason, message, object)
    events.record(inside(self), kind, reason, message, object)
end

-- What assert raises of a failure keeps its code.
for name, method in pairs(methods) do
    methods[name] = failures.remembered(method)
end

---The run is over.
function methods.close()
end

return runs
