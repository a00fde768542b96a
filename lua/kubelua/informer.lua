-- An informer: a cache of the objects of one resource, with callbacks and indexes.
-- lua/src/informer.c has the parts that are in C.
local core = require "kubelua.core"
local FunctionIndex = require "kubelua.function_index"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"
local registrations = require "kubelua.registration"
local scheduler = require "kubelua.scheduler"
local scripts = require "kubelua.script"
local several = require "kubelua.informer.several_namespaces"
local sorted_keys = require "kubelua.sorted_keys"
local tasks = require "kubelua.tasks"
local waiting = require "kubelua.waiting"

local TYPE = "kubelua.informer"

---What client:informer returns.
---@class kubelua.Informer
---@field has_synced fun(self): boolean?, string?, string? # it holds the first list
---@field get fun(self, key: string, name?: string): kubelua.Object?, string?, string?
---@field list fun(self, filter?: kubelua.Filter): kubelua.Object[]?, string?, string?
---@field count fun(self): integer?, string?, string? # how many objects the cache holds
---@field resource_version fun(self): string?, string?, string? # the version that it has reached
---@field status fun(self): kubelua.Status its state and counters
---@field set_shard fun(self, shard: string): true?, string?, string? # caches that one from now on
---@field holds_shard fun(self): boolean # it holds the list of the shard that was set last
local Informer = core.methods(TYPE)

---What informer:list takes.
---@class kubelua.Filter
---@field namespace? string one namespace; nil or "*": all
---@field labels? string a label selector, as of kubectl's -l

local informers = {
    open = setmetatable({}, { __mode = "k" }), -- all of this lua_State, a weak set
}

local RETIRED = "the client was closed: the cache can still be read, but does not change any more"

local function state_of(informer)
    return core.state(informer, TYPE)
end

local function expect_string(call, what, value)
    if type(value) ~= "string" then
        misuse("%s: %s must be a string, not a %s", call, what, type(value))
    end
end

---What client:informer takes. The resource comes first, as in { "pods", namespace = "web" }.
---@class kubelua.InformerOptions: kubelua.InformerScope
---@field [1] string any name that kubectl accepts: "pods", "po", "deployments.apps",
---"apps/v1/Deployment"

---The options that informers and controllers have in common.
---@class kubelua.InformerScope
---@field namespace? string|string[] one, several, "*": all; nil: that of kubelua run -n, else all
---@field labels? string a label selector, as of kubectl's -l
---@field fields? string a field selector, as of kubectl's --field-selector
---@field shard? string "0/4": the first of four shards of all objects, by UID; several: "0/4,2/4"
---@field shard_by? string what shards are of: "uid" (default), "key", "namespace", or of an owner:
---"owner_uid", "owner_key" (in the same namespace), "owner_name" (of a kind without namespaces)
---@field ring? string a name of your choice: `set_shard` may be called; informers with the same
---one share a watch
---@field indexes? table<string, string|fun(object: kubelua.Object): any> a path or a function each
---@field resync? number seconds between replays of the cache to its handlers; 0: never
---@field managed_fields? boolean keep metadata.managedFields; default: false
---@field metadata? boolean ask for metadata alone: its objects have no spec and no status
---@field drop? string|string[] paths of what is not cached, such as "spec.containers[*].env"
---@field keep? string|string[] paths of what is cached, besides apiVersion, kind and metadata
---@field streaming_list? boolean let the server stream the first list; default: true
---@field compress? boolean keep objects compressed while nothing reads them; default: true
---@field page_size? integer objects in a page of a list that is not streamed; default: 500
---@field idle_timeout? number seconds without a message, then the watch is reopened; below 0: never

local OPTIONS = {
    namespace = "string|table", labels = "string", fields = "string", indexes = "table",
    shard = "string", shard_by = "string", ring = "string",
    resync = "number", managed_fields = "boolean", metadata = "boolean",
    drop = "string|table", keep = "string|table",
    streaming_list = "boolean", compress = "boolean", page_size = "number",
    idle_timeout = "number",
}

-- Sorts several namespaces as the keys of their objects are sorted, each once. A single one is
-- returned as a string.
local function sort_namespaces(given)
    local names, seen = {}, {}
    for place, name in pairs(given) do
        if type(place) ~= "number" or type(name) ~= "string" then
            misuse("informer: 'namespace' must be a name or a list of names, such as "
                .. "{ \"web\", \"db\" }")
        elseif name == "*" then
            misuse("informer: \"*\" means all namespaces, and cannot be in a list: write "
                .. "namespace = \"*\"")
        end
        core.check_namespace("informer", name)
        if not seen[name] then
            seen[name], names[#names + 1] = true, name
        end
    end
    if #names == 0 then
        misuse("informer: the list of namespaces is empty; for all of them, write "
            .. "namespace = \"*\"")
    end
    table.sort(names, function(a, b) return a .. "/" < b .. "/" end)
    return #names == 1 and names[1] or names
end

-- The paths of `drop` or `keep`, as a list.
local function list_paths(name, given)
    if type(given) ~= "table" then
        return given and { given }
    end
    for place, path in pairs(given) do
        if type(place) ~= "number" or type(path) ~= "string" then
            misuse("informer: '%s' must be a path or a list of paths, such as "
                .. "{ \"status.conditions\", \"spec.containers[*].env\" }", name)
        end
    end
    return given
end

---@param given kubelua.InformerOptions|string
---@return table request, table? indexes
function informers.read_options(given)
    if type(given) == "string" then
        given = { given }
    end
    if type(given) ~= "table" or type(given[1]) ~= "string" then
        misuse("informer: which resource? For example client:informer { \"pods\" }")
    end
    local request, named = { resource = given[1] }, {}
    for key, value in pairs(given) do
        if type(key) == "number" and key ~= 1 then
            misuse("informer: only one resource is possible, and '%s' is another one; open an "
                .. "informer for each", tostring(value))
        elseif key ~= 1 then
            named[key] = value
            if key ~= "indexes" then
                request[key] = value
            end
        end
    end
    options.check("informer", named, OPTIONS)
    request.drop, request.keep = list_paths("drop", given.drop), list_paths("keep", given.keep)
    if type(request.namespace) == "table" then
        request.namespace = sort_namespaces(request.namespace)
    elseif request.namespace ~= "*" then
        core.check_namespace("informer", request.namespace)
    end
    return request, given.indexes
end

---Sets the default namespace, or namespaces, of a request that names none. A kind without
---namespaces is watched as a whole.
---@param request table
---@param scope string|string[]|nil
local function add_scope(request, scope)
    if type(scope) == "table" then
        local kind = not request.resource:find("%z") and core.builtin_kind(request.resource)
        if kind and not kind.namespaced then
            return
        end
        scope = sort_namespaces(scope)
    end
    request.namespace, request.namespace_if_any = scope, type(scope) == "string" or nil
end

-- Opens an informer of the core.
local function open_one(client, request, indexes)
    local self, message, code = core.informer(client, request)
    if not self then
        return nil, message, code
    end
    local state = state_of(self)
    state.what, state.registrations, state.indexes = request.resource, {}, {}
    state.request, state.script = request, scripts.here()
    state.client = client -- its requests are counted while the informer is open
    informers.open[self] = true
    for name, index in pairs(indexes or {}) do
        local ok
        ok, message, code = self:index(name, index)
        if not ok then
            self:stop()
            return nil, message, code
        end
    end
    return self
end

-- Opens an informer of the core: of one namespace, or of all. If it has an index that the script
-- before it had with another path, it gets a cache of its own.
local function open_informer(client, request, indexes)
    local self, message, code = open_one(client, request, indexes)
    if not self and code == "conflict" and scripts.before() then
        request.apart = true
        self, message, code = open_one(client, request, indexes)
        request.apart = nil
    end
    return self, message, code
end

---@param client kubelua.Client
---@param given kubelua.InformerOptions|string
---@param scope string|string[]|nil the default namespaces, if the kind has namespaces.
---Several namespaces are an error for a custom kind without namespaces
---@return kubelua.Informer?, string?, string?
function informers.new(client, given, scope)
    local request, indexes = informers.read_options(given)
    if request.namespace == nil then
        add_scope(request, scope)
    end
    if type(request.namespace) ~= "table" then
        return open_informer(client, request, indexes)
    end
    return several.open(request.namespace, function(namespace)
        local wanted = {}
        for name, value in pairs(request) do
            wanted[name] = value
        end
        wanted.namespace = namespace
        local informer, message, code = open_informer(client, wanted, indexes)
        return informer, message or state_of(informer), code
    end)
end

---True if it has a registration, or a call has waited for its first list.
---@param informer kubelua.Informer
---@return boolean
function informers.is_used(informer)
    local state = state_of(informer)
    return state.was_awaited or next(state.registrations) ~= nil
end

---The resource that it was opened with.
---@param informer kubelua.Informer
---@return string
function informers.resource(informer)
    return state_of(informer).what
end

---Registers callbacks: any of add, update, delete, synced and error.
---@param given kubelua.HandlerOptions
---@return kubelua.Registration?, string?, string? # "closed" if the informer was stopped
function Informer:on(given)
    local state = state_of(self)
    if state.is_retired then
        return nil, RETIRED, "closed"
    end
    return registrations.new(self, state, given)
end

---Waits until the cache holds the first list. Events are dispatched meanwhile.
---@param seconds number? default: for ever
---@return true?, string?, string?
function Informer:wait_synced(seconds)
    scheduler.check_bound("wait_synced", seconds)
    state_of(self).was_awaited = true
    local ok, message, code = core.informer_wake(self, tasks.poller)
    if not ok then
        return nil, message, code
    end
    local _, is_ended = waiting.wait("wait_synced", seconds, function()
        return core.informer_settled(self)
    end)
    if is_ended then
        return nil, waiting.CANCELED, "canceled"
    end
    return core.informer_outcome(self)
end

-- Completes the message about an unknown index: the core names the indexes by path, and this adds
-- the names of the indexes by function.
local function add_function_names(state, found, message, code)
    if found or code ~= "not_found" then
        return found, message, code
    end
    local names = sorted_keys(state.indexes)
    misuse("%s%s", message,
        names[1] and "; indexes by function: " .. table.concat(names, ", ") or "")
end

---The objects with a value in an index, sorted by key.
---@param index string
---@param value string|number|boolean
---@return kubelua.Object[]?, string?, string?
function Informer:by(index, value)
    local state = state_of(self)
    expect_string("by", "the index's name", index)
    local text = FunctionIndex.text(value)
    if state.indexes[index] then
        return state.indexes[index]:by(text)
    end
    return add_function_names(state, core.informer_by(self, index, text))
end

---The distinct values of an index, sorted.
---@param index string
---@return string[]?, string?, string?
function Informer:values(index)
    local state = state_of(self)
    expect_string("values", "the index's name", index)
    if state.indexes[index] then
        return state.indexes[index]:distinct()
    end
    return add_function_names(state, core.informer_values(self, index))
end

local function add_path(self, state, name, path)
    if state.indexes[name] then
        return nil, "index '" .. name .. "' exists already, as a function", "conflict"
    end
    local ok, message, code = core.informer_index(self, name, path)
    if code == "invalid_argument" then
        misuse("index '%s': %s", name, message)
    end
    return ok, message, code
end

local function add_function(self, state, name, compute)
    if state.indexes[name] then
        return nil, "index '" .. name .. "' exists already: choose another name", "conflict"
    elseif state.is_retired then
        return nil, RETIRED, "closed"
    end
    local made, message, code = FunctionIndex.new(self, state.what, name, compute)
    if not made then
        return nil, message, code
    end
    state.indexes[name] = made
    return true
end

---Adds an index by path (kept in the core), or by function (kept in Lua).
---@param name string
---@param index string|fun(object: kubelua.Object): any
---@return true?, string?, string?
function Informer:index(name, index)
    local state = state_of(self)
    expect_string("index", "its name", name)
    if type(index) == "string" then
        return add_path(self, state, name, index)
    elseif type(index) ~= "function" then
        misuse("index '%s': a path or a function expected, not a %s", name, type(index))
    end
    return add_function(self, state, name, index)
end

local function remove_registrations(state)
    -- Not by pairs: compiled by LuaJIT, that loop may not end if a finalizer empties the table
    -- meanwhile.
    local registration = next(state.registrations)
    while registration do
        state.registrations[registration] = nil
        registration:remove()
        registration = next(state.registrations)
    end
end

---Called before its client is closed: no events come any more, but the cache can be read.
---@param informer kubelua.Informer
function informers.retire(informer)
    local state = state_of(informer)
    state.is_retired = true
    remove_registrations(state)
    for _, index in pairs(state.indexes) do
        index:retire()
    end
end

---Stops this informer and its registrations. The last informer that shares a watch ends it.
function Informer:stop()
    local state = state_of(self)
    informers.open[self] = nil
    remove_registrations(state)
    for name, index in pairs(state.indexes) do
        index:remove()
        state.indexes[name] = nil
    end
    core.informer_stop(self)
end

return informers
