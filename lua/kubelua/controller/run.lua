-- A run: the second argument of reconcile, for one key. Its methods read the controller's caches,
-- never older than what the controller has written, and write objects.
local cache_of = require "kubelua.controller.cache_of"
local change = require "kubelua.controller.change"
local core = require "kubelua.core"
local events = require "kubelua.events"
local failures = require "kubelua.failures"
local mapping = require "kubelua.controller.mapping"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"
local scopes = require "kubelua.scope"
local script_log = require "kubelua.script_log"
local sorted_keys = require "kubelua.sorted_keys"
local status = require "kubelua.controller.status"
local write = require "kubelua.controller.write"
local writes_seen = require "kubelua.controller.writes_seen"

---The run that reconcile, finalize and gone get.
---@class kubelua.Run
---@field key string
---@field attempt integer 1, plus 1 for each failure in a row before
---@field due number? Unix time of the later run that was asked for
---@field cluster string? the name of the cluster that the run works in; nil outside of a fleet
---@field client kubelua.Client
---@field memo table of this key and UID, in memory; empty after this process has become the leader
---@field log fun(level: "debug"|"info"|"warn"|"error", message: string, ...)
local methods = {}

-- The key of the fields that are not for the script: the state and the object.
local INSIDE = {}

local FIELDS = { key = true, attempt = true, due = true, client = true, memo = true, log = true,
    cluster = true }

-- Makes the memo when the script first reads it.
local function read_memo(self)
    local own = rawget(self, INSIDE)
    local memo = own and own.key and own.state:memo_of(own)
    rawset(self, "memo", memo or nil)
    return memo or nil
end

-- Makes the function when the script first reads it.
local function read_log(self)
    local own = rawget(self, INSIDE)
    local state, key, attempt = own.state, own.key, self.attempt
    local function log(level, message, ...)
        script_log.write("run.log", { cluster = state.cluster, controller = state.name, key = key,
            attempt = attempt },
            state.what .. ": " .. (key and key .. ": " or ""), level, message, ...)
    end
    rawset(self, "log", log)
    return log
end

local Run = { __name = "kubelua.Run" }

-- A call may follow that leaves no line on the stack: see kubelua.Scope.line.
local function note_line()
    local scope = scopes.here()
    if scope then
        scope.line = core.script_line()
    end
end

-- A mistyped method raises with the script's line.
function Run.__index(self, name)
    if name == "memo" then
        return read_memo(self)
    elseif name == "log" then
        return read_log(self)
    end
    local method = methods[name]
    if method or name == "client" then
        note_line()
        return method or self[INSIDE].state.client
    elseif FIELDS[name] or type(name) ~= "string" then
        return nil
    end
    local names = sorted_keys(FIELDS)
    for _, each in ipairs(sorted_keys(methods)) do
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
---@param key string? nil: for a map, which reads the caches as they are
---@param object kubelua.Object?
---@param item { attempt: integer, due: number? }?
---@return kubelua.Run
function runs.new(state, key, object, item)
    return setmetatable({
        [INSIDE] = { state = state, key = key, object = object, term = state.terms },
        key = key, attempt = item and item.attempt, due = item and item.due,
        cluster = state.cluster,
    }, Run)
end

---Sets the object of the run: its newest state.
---@param self kubelua.Run
---@param object kubelua.Object
function runs.renew(self, object)
    self[INSIDE].object = object
end

---The fields of a run for KubeLua's own modules.
---@param self kubelua.Run
---@return { state: kubelua.controller.State, key: string?, object: kubelua.Object? }
local function check_inside(self)
    local found = type(self) == "table" and rawget(self, INSIDE)
    if not found then
        misuse("a run expected, not a %s: call its methods with a colon, as in run:get(...)",
            type(self))
    end
    return found
end

-- The cache of a source, once it holds what the controller wrote.
local function await_cache(self, call, name, filter)
    local own = check_inside(self)
    local source = cache_of.find(own.state, call, name)
    local kind = filter.key and cache_of.kind_of(source)
    local problem = kind and mapping.problem(kind, filter.key, "")
    if problem then
        misuse("%s: %s", call, problem)
    end
    if own.key then
        local writes = own.state.writes
        local wait = filter.key and writes.wait_key or writes.wait
        local ok, message, code = wait(writes, call, source, filter.key or filter)
        if not ok then
            failures.note(call, nil, message, code)
            error(message, 0) -- a cache older than its writes is never read
        end
    end
    return source.informer, source
end

---An object in a declared cache; nil if the cache does not have it.
---@param source string as declared
---@param key string "namespace/name"; or "name", if the kind has no namespaces
---@param name string? if given, the key is the namespace
---@return kubelua.Object?
function methods:get(source, key, name)
    if type(key) ~= "string" or (name ~= nil and type(name) ~= "string") then
        misuse("run:get: write run:get(\"%s\", \"namespace/name\")", tostring(source))
    end
    local of_object = name and key .. "/" .. name or key
    return await_cache(self, "run:get", source, { key = of_object }):get(of_object)
end

---The objects of a declared cache, sorted by key.
---@param source string as declared
---@param filter kubelua.Filter?
---@return kubelua.Object[] # or nil, message, code if the filter is wrong
function methods:list(source, filter)
    local namespace = type(filter) == "table" and filter.namespace or nil
    local informer = await_cache(self, "run:list", source,
        { namespace = namespace ~= "*" and namespace or nil })
    return informer:list(filter)
end

---The objects with a value in an index of a declared cache, sorted by key.
---@param source string as declared
---@param index string
---@param value string|number|boolean
---@return kubelua.Object[]
function methods:by(source, index, value)
    return await_cache(self, "run:by", source, {}):by(index, value)
end

local OWNER_INDEX = "kubelua/owner"

---The objects that the object of this run controls, sorted by key.
---@param source string as declared
---@return kubelua.Object[]
function methods:owned(source)
    local object = check_inside(self).object
    if not object then
        misuse("run:owned: this run has no object that could own something")
    end
    local informer, found = await_cache(self, "run:owned", source, { owner = object.uid })
    if not found.has_owner_index then
        assert(informer:index(OWNER_INDEX, "metadata.ownerReferences[*].uid"))
        found.has_owner_index = true
    end
    local owned = {}
    for _, one in ipairs(assert(informer:by(OWNER_INDEX, object.uid))) do
        if writes_seen.controller_of(one) == object.uid then
            owned[#owned + 1] = one
        end
    end
    return owned
end

---Creates an object; the run's object becomes its controller. If it exists: "already_exists", or
---"not_owned" if another object, or none, is its controller.
---@param object table|string a string is one YAML or JSON document
---@param given kubelua.RunCreateOptions?
---@return kubelua.Object?, string?, string?, number?
function methods:create(object, given)
    return write.create(check_inside(self), object, given)
end

---Server-side apply of an object; the run's object becomes its controller.
---@param object table|string only the fields that the controller owns; not an object that was read
---@param given kubelua.RunApplyOptions?
---@return kubelua.Object?, string?, string?, number?
function methods:apply(object, given)
    return write.apply(check_inside(self), object, given)
end

---Changes a part of the run's object: patch { ... }; or of another object.
---@param ... any target, patch, kubelua.RunPatchOptions
---@return kubelua.Object?, string?, string?, number?
---@overload fun(self, patch: table, options: kubelua.RunPatchOptions?): kubelua.Object?
---@overload fun(self, object: table, patch: any, o: kubelua.RunPatchOptions?): any
---@overload fun(self, resource: string, key: string, patch: any, o: kubelua.RunPatchOptions?): any
function methods:patch(...)
    return change.patch(check_inside(self), ...)
end

---Deletes an object. Also true if it is gone, or its name belongs to another object by now.
---@param ... any target, kubelua.RunDeleteOptions
---@return kubelua.Object|true|nil, string?, string?, number?
---@overload fun(self, object: table, options: kubelua.RunDeleteOptions?): any
---@overload fun(self, resource: string, key: string, options: kubelua.RunDeleteOptions?): any
function methods:delete(...)
    return change.delete(check_inside(self), ...)
end

---Evicts a pod, if its PodDisruptionBudget allows it. Also true if the pod is gone, or replaced.
---@param pod string|kubelua.Object the pod, or its key
---@param given kubelua.EvictOptions?
---@return true?, string?, string?, number?
function methods:evict(pod, given)
    return change.evict(check_inside(self), pod, given)
end

---Writes status fields of the run's object: status { ... }; or of another object. Each named field
---becomes exactly this value. Nothing is sent if nothing changes.
---@param ... any object, fields, kubelua.RunStatusOptions
---@return kubelua.Object?, string?, string?, number?
---@overload fun(self, fields: table, options: kubelua.RunStatusOptions?): kubelua.Object?
---@overload fun(self, object: table, fields: table, o: kubelua.RunStatusOptions?): any
function methods:status(...)
    return status.write(check_inside(self), ...)
end

---@param run kubelua.controller.Inside
---@param kind "Normal"|"Warning"
---@param reason string
---@param message string
---@param object kubelua.Object?
local function record_event(run, kind, reason, message, object)
    object = object or run.object
    if not object then
        misuse("run:event: this run has no object; name one as the fourth argument")
    end
    events.record(run.state.client, object, kind, reason, message,
        { controller = run.state.name, call = "run:event" })
end

---Records an event about the run's object, or about another one. Never waits and never fails.
---@param kind "Normal"|"Warning"
---@param reason string "Created"
---@param message string
---@param object kubelua.Object?
function methods:event(kind, reason, message, object)
    record_event(check_inside(self), kind, reason, message, object)
end

-- Failures are remembered, so that an error of assert keeps its code.
for name, method in pairs(methods) do
    methods[name] = failures.remembered("run:" .. name, method)
end

---Called when the run is over.
function methods.close()
end

return runs
