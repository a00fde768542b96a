-- Checks the options of kubelua.controller, and sets their defaults.
local core = require "kubelua.core"
local informers = require "kubelua.informer"
local leader = require "kubelua.leader"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"
local shards = require "kubelua.shards"

---The options of kubelua.controller. The resource comes first, with the options of an informer:
---  kubelua.controller { "foos.example.com", reconcile = function(foo, run) end }
---@class kubelua.ControllerOptions: kubelua.InformerScope
---@field [1]? string the resource; none: the keys are any strings that map and enqueue give
---@field name? string # in logs, metrics and events, and as field manager; default: the resource
---@field client? kubelua.Client default: kubelua.connect()
---@field reconcile kubelua.Reconcile
---@field gone? kubelua.Gone called for a queued key that is not in the cache, even if it never was;
---also for a key whose object was replaced by one with another UID; may be called again
---@field finalizer? string such as "example.com/cleanup"; needs finalize
---@field finalize? kubelua.Reconcile called for an object that is being deleted
---@field owns? (string|kubelua.SourceOptions)[] their events reconcile their owner
---@field watches? (string|kubelua.SourceOptions)[] their events reconcile the keys that map returns
---@field reads? (string|kubelua.SourceOptions)[] cached for run:get and run:list; no events
---@field when? fun(old: kubelua.Object, new: kubelua.Object): any true: the update matters
---@field delay? number events of a key in so many seconds after the first are one run; default 0
---@field resync? number seconds after which every key is reconciled again; default 0: never
---@field workers? integer how many keys run at once; default 4
---@field timeout? number seconds after which a run is cancelled; default 300
---@field terminating? boolean reconcile is also called for objects that are being deleted
---@field leader? string|kubelua.LeaderOptions a Lease: only its holder reconciles
---@field shards? string|kubelua.ShardsOptions a ring: its members share out the keys
---@field as? string the name of its own cache in run:get; default: the resource

---What reconcile returns. Nothing, true or an object: done. A number above 0: again in so many
---seconds. 0 or less: again, as late as after a failure, but not counted as one. false, message:
---not again before the next event. nil, message[, code, retry_after]: a failure, again with
---backoff.
---@alias kubelua.Result boolean|number|kubelua.Object
---@alias kubelua.Reconcile fun(object: kubelua.Object, run: kubelua.Run): kubelua.Result?, string?, string?, number?
---@alias kubelua.Gone fun(key: string, run: kubelua.Run): kubelua.Result?, string?, string?, number?

---An entry of owns, watches or reads. The resource comes first, as in { "pods", as = "shop_pods" },
---with the options of an informer. The namespace defaults to the controller's.
---@class kubelua.SourceOptions: kubelua.InformerOptions
---@field as? string its name in run:get; default: the resource
---@field when? fun(old: kubelua.Object, new: kubelua.Object): any true: the update matters
---@field map? fun(object: kubelua.Object, run: kubelua.Run): any # in watches: returns a key,
---an object, or a list of these
---@field controller? boolean # in owns; false: every owner reference counts
---@field metadata? boolean cache metadata only; reading spec or status then raises

local checked = {}

local INFORMER = {
    namespace = "string|table", labels = "string", fields = "string", indexes = "table",
    managed_fields = "boolean", streaming_list = "boolean", page_size = "number",
    idle_timeout = "number", metadata = "boolean", compress = "boolean",
    drop = "string|table", keep = "string|table",
}

local OWN = {
    name = "string", client = "userdata", reconcile = "function", gone = "function",
    finalizer = "string", finalize = "function", owns = "table", watches = "table",
    reads = "table", when = "function", delay = "number", resync = "number", workers = "number",
    timeout = "number", terminating = "boolean", leader = "string|table", shards = "string|table",
    as = "string",
}

-- The options of an entry besides those of an informer.
local OF_SOURCE = {
    owns = { as = "string", when = "function", controller = "boolean", resync = "number" },
    watches = { as = "string", when = "function", map = "function", resync = "number" },
    reads = { as = "string" },
}

local DEFAULTS = { delay = 0, resync = 0, workers = 4, timeout = 300 }

-- These need objects, so a controller without a resource cannot have them.
local OF_OBJECTS = { "gone", "finalizer", "finalize", "owns", "when", "terminating", "as" }

local function add_informer_options(types)
    local all = {}
    for name, wanted in pairs(INFORMER) do
        all[name] = wanted
    end
    for name, wanted in pairs(types) do
        all[name] = wanted
    end
    return all
end

local ALL = add_informer_options(OWN)
for role, types in pairs(OF_SOURCE) do
    OF_SOURCE[role] = add_informer_options(types)
end

-- Splits a table into the resource, at 1, and the named options.
local function split_resource(call, given)
    local named = {}
    for key, value in pairs(given) do
        if key ~= 1 and type(key) == "number" then
            misuse("%s: only one resource is possible here, and '%s' is another one", call,
                tostring(value))
        elseif key ~= 1 then
            named[key] = value
        end
    end
    if given[1] ~= nil and (type(given[1]) ~= "string" or given[1] == "") then
        misuse("%s: the resource must be a text, such as \"pods\", not a %s", call, type(given[1]))
    end
    return given[1], named
end

local function pick_informer_options(resource, named)
    local given = { resource }
    for name in pairs(INFORMER) do
        given[name] = named[name]
    end
    return given
end

-- Raises if no server can serve a source. For a custom resource, its informer is opened later, when
-- its kind is known: a mistake must not wait for that.
local function check_request(call, given)
    local request = informers.read_options(given)
    if type(request.namespace) == "table" then
        request.namespace = nil -- its names were checked
    end
    local ok, message = core.check_informer(request)
    if not ok then
        misuse("%s: %s: %s", call, given[1], message)
    end
    return given
end

-- Checks one source; `call` is used in messages.
local function read_source(call, role, entry)
    if type(entry) == "string" then
        entry = { entry }
    elseif type(entry) ~= "table" then
        misuse("%s: a resource or a table of options expected, not a %s", call, type(entry))
    end
    local resource, named = split_resource(call, entry)
    if not resource then
        misuse("%s: which resource? For example { \"pods\", as = \"shop_pods\" }", call)
    end
    options.check(call, named, OF_SOURCE[role])
    if role == "watches" and not named.map then
        misuse("%s: '%s' needs map = function(object, run), which returns the keys to reconcile",
            call, resource)
    end
    local given = pick_informer_options(resource, named)
    given.resync = named.resync
    check_request(call, given)
    return { role = role, name = named.as or resource, resource = resource, given = given,
        when = named.when, map = named.map, any_owner = named.controller == false,
        metadata = named.metadata or false }
end

local function add_list(sources, role, list)
    local call = "controller: " .. role
    for key in pairs(list) do
        if type(key) ~= "number" then
            misuse("%s: a list of sources expected, such as { { \"pods\", %s = ... } }", call,
                tostring(key))
        end
    end
    for _, entry in ipairs(list) do
        sources[#sources + 1] = read_source(call, role, entry)
    end
end

-- Two sources need different names: run:get finds a source by its name.
local function check_names(sources)
    local seen = {}
    for _, source in ipairs(sources) do
        if seen[source.name] then
            misuse("controller: two sources are called '%s'; give one of them another name: "
                .. "{ \"%s\", as = \"...\" }", source.name, source.resource)
        end
        seen[source.name] = true
    end
end

local function read_sources(resource, given)
    local sources = {}
    if resource then
        sources[1] = { role = "reconciles", name = given.as or resource, resource = resource,
            given = check_request("controller", pick_informer_options(resource, given)),
            when = given.when,
            metadata = given.metadata or false }
    end
    for _, role in ipairs { "owns", "watches", "reads" } do
        add_list(sources, role, given[role] or {})
    end
    check_names(sources)
    return sources
end

local function check_number(given, name, least, words)
    local value = given[name]
    if value and (value ~= value or value < least) then
        misuse("controller: '%s' must be %s", name, words)
    end
end

local function check_values(given)
    check_number(given, "delay", 0, "a number of seconds, from 0")
    check_number(given, "resync", 0, "a number of seconds, from 0")
    check_number(given, "timeout", 0.001, "a number of seconds above 0")
    if given.workers and (given.workers < 1 or given.workers % 1 ~= 0) then
        misuse("controller: 'workers' must be an integer from 1")
    elseif not given.reconcile then
        misuse("controller: 'reconcile' is missing: write reconcile = function(object, run) end "
            .. "(is the name of a function mistyped? In Lua it is nil then)")
    elseif (given.finalizer ~= nil) ~= (given.finalize ~= nil) then
        misuse("controller: finalizer = \"example.com/cleanup\" and finalize = function(object, "
            .. "run) end need each other: give both")
    end
end

local function check_keyless(given)
    for _, name in ipairs(OF_OBJECTS) do
        if given[name] ~= nil then
            misuse("controller: '%s' needs a resource that is reconciled, such as "
                .. "kubelua.controller { \"pods\", ... }", name)
        end
    end
    if not given.name then
        misuse("controller: without a resource it needs a name, as in name = \"zones\"")
    end
end

-- Replaces the option `shards` by all that it means.
local function check_shards(result, resource)
    if not result.shards then
        return
    elseif result.leader then
        misuse("controller: 'leader' (one process works) and 'shards' (all do) exclude each other")
    end
    result.shards = shards.options(result.shards)
    if not resource and result.shards.by ~= "key" then
        misuse("controller: shards: without a resource that is reconciled, keys can only be shared "
            .. "out by = \"key\"")
    end
end

---Checks the options of a script. Returns them, and the list of sources; the reconciled one is
---first.
---@param given kubelua.ControllerOptions
---@return table options, table[] sources
function checked.read(given)
    if type(given) ~= "table" then
        misuse("controller: a table expected, such as { \"pods\", reconcile = function(pod, run) "
            .. "end }, not a %s", type(given))
    end
    local resource, named = split_resource("controller", given)
    options.check("controller", named, ALL)
    check_values(named)
    if not resource then
        check_keyless(named)
    end
    local result = { name = named.name or resource, resource = resource }
    for name in pairs(OWN) do
        if result[name] == nil then
            result[name] = named[name] ~= nil and named[name] or DEFAULTS[name]
        end
    end
    for _, namespace in ipairs(type(named.namespace) == "table" and named.namespace
        or { named.namespace }) do
        if namespace ~= "*" then
            core.check_namespace("controller", namespace)
        end
    end
    result.namespace = named.namespace
    if named.leader then
        leader.options(named.leader) -- raises if they are wrong
    end
    check_shards(result, resource)
    return result, read_sources(resource, named)
end

return checked
