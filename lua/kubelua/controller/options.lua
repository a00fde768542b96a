-- What kubelua.controller takes: checked, and with its defaults.
local core = require "kubelua.core"
local leader = require "kubelua.leader"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"

---What kubelua.controller takes. The resource comes first, with the options of an informer of it:
---kubelua.controller { "foos.example.com", namespace = "web", reconcile = function(foo, run) end }
---@class kubelua.ControllerOptions: kubelua.InformerScope
---@field [1]? string what it reconciles; none: its keys are any texts that map and enqueue give
---@field name? string in logs, metrics, events, and as field manager; default: the resource
---@field client? kubelua.Client default: kubelua.connect()
---@field reconcile kubelua.Reconcile
---@field gone? kubelua.Gone of a queued key that the cache does not have: even of one never seen,
---perhaps again
---@field finalizer? string "example.com/cleanup"; with finalize
---@field finalize? kubelua.Reconcile of an object that is being deleted
---@field owns? (string|kubelua.SourceOptions)[] their events reconcile the owner
---@field watches? (string|kubelua.SourceOptions)[] their events reconcile what map says
---@field reads? (string|kubelua.SourceOptions)[] cached for run:get and run:list; trigger nothing
---@field when? fun(old: kubelua.Object, new: kubelua.Object): any which updates matter
---@field delay? number events of a key within so many seconds of the first are one run; default 0
---@field resync? number every key again this often, in seconds; default 0: never
---@field workers? integer so many keys at once; default 4
---@field timeout? number seconds after which a run is cancelled; default 300
---@field terminating? boolean reconcile sees objects that are being deleted, too
---@field leader? string|kubelua.LeaderOptions a Lease: only its holder reconciles
---@field as? string the name of its own kind in run:get; default: the resource

---What reconcile returns: nothing, true or an object: done. A number above 0: again in so many
---seconds. 0 or below: again, paced like a failure, and not counted as one. false, message: not
---before the next event. nil, message[, code, retry_after]: a failure, again with backoff.
---@alias kubelua.Result nil|boolean|number|kubelua.Object
---@alias kubelua.Reconcile fun(object: kubelua.Object, run: kubelua.Run): kubelua.Result, ...any
---@alias kubelua.Gone fun(key: string, run: kubelua.Run): kubelua.Result, ...any

---An entry of owns, watches or reads: the resource first, as in { "pods", as = "shop_pods" }; with
---the options of an informer. The namespace defaults to the controller's.
---@class kubelua.SourceOptions: kubelua.InformerOptions
---@field as? string its name in run:get; default: the resource
---@field when? fun(old: kubelua.Object, new: kubelua.Object): any which updates matter
---@field map? fun(object: kubelua.Object, run: kubelua.Run): any of watches: a key, an object, or a
---list of them
---@field controller? boolean of owns; false: any owner reference, not the controller's alone
---@field metadata? boolean ask for metadata alone; reading spec or status then raises

local checked = {}

local INFORMER = {
    namespace = "string|table", labels = "string", fields = "string", indexes = "table",
    managed_fields = "boolean", streaming_list = "boolean", page_size = "number",
    idle_timeout = "number", metadata = "boolean",
}

local OWN = {
    name = "string", client = "userdata", reconcile = "function", gone = "function",
    finalizer = "string", finalize = "function", owns = "table", watches = "table",
    reads = "table", when = "function", delay = "number", resync = "number", workers = "number",
    timeout = "number", terminating = "boolean", leader = "string|table", as = "string",
}

-- What an entry of each list takes beyond the options of an informer.
local OF_SOURCE = {
    owns = { as = "string", when = "function", controller = "boolean", resync = "number" },
    watches = { as = "string", when = "function", map = "function", resync = "number" },
    reads = { as = "string" },
}

local DEFAULTS = { delay = 0, resync = 0, workers = 4, timeout = 300 }

-- Of what has no resource there is no object.
local OF_OBJECTS = { "gone", "finalizer", "finalize", "owns", "when", "terminating", "as" }

local function with_informer(types)
    local all = {}
    for name, wanted in pairs(INFORMER) do
        all[name] = wanted
    end
    for name, wanted in pairs(types) do
        all[name] = wanted
    end
    return all
end

local ALL = with_informer(OWN)
for role, types in pairs(OF_SOURCE) do
    OF_SOURCE[role] = with_informer(types)
end

-- The resource, which is at 1, and the options by name.
local function split(call, given)
    local named = {}
    for key, value in pairs(given) do
        if key ~= 1 and type(key) == "number" then
            misuse("%s: one resource each, not '%s' as well", call, tostring(value))
        elseif key ~= 1 then
            named[key] = value
        end
    end
    if given[1] ~= nil and (type(given[1]) ~= "string" or given[1] == "") then
        misuse("%s: the resource must be a text, such as \"pods\", not a %s", call, type(given[1]))
    end
    return given[1], named
end

local function informer_options(resource, named)
    local given = { resource }
    for name in pairs(INFORMER) do
        given[name] = named[name]
    end
    return given
end

-- One source; `call` is for messages.
local function source_of(call, role, entry)
    if type(entry) == "string" then
        entry = { entry }
    elseif type(entry) ~= "table" then
        misuse("%s: a resource or a table of options expected, not a %s", call, type(entry))
    end
    local resource, named = split(call, entry)
    if not resource then
        misuse("%s: which resource? For example { \"pods\", as = \"shop_pods\" }", call)
    end
    options.check(call, named, OF_SOURCE[role])
    if role == "watches" and not named.map then
        misuse("%s: '%s' needs map = function(object, run), which returns the keys to reconcile",
            call, resource)
    end
    local given = informer_options(resource, named)
    given.resync = named.resync
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
        sources[#sources + 1] = source_of(call, role, entry)
    end
end

-- A name stands for one source: run:get could not tell them apart.
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

local function sources_of(resource, given)
    local sources = {}
    if resource then
        sources[1] = { role = "reconciles", name = given.as or resource, resource = resource,
            given = informer_options(resource, given), when = given.when,
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
        misuse("controller: no reconcile; give it as reconcile = function(object, run) end (a "
            .. "function whose name is mistyped is nil, as if it were not there)")
    elseif (given.finalizer ~= nil) ~= (given.finalize ~= nil) then
        misuse("controller: finalizer = \"example.com/cleanup\" and finalize = function(object, "
            .. "run) end belong together")
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

---What a script gave, checked; and the sources: a list, what is reconciled first.
---@param given kubelua.ControllerOptions
---@return table options, table[] sources
function checked.read(given)
    if type(given) ~= "table" then
        misuse("controller: a table expected, such as { \"pods\", reconcile = function(pod, run) "
            .. "end }, not a %s", type(given))
    end
    local resource, named = split("controller", given)
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
        leader.options(named.leader) -- raises what is wrong with them
    end
    return result, sources_of(resource, named)
end

return checked
