-- KubeLua in nginx (OpenResty, or nginx with its Lua module): one worker of a machine watches the
-- cluster, and writes the endpoints of Services into shared memory; every worker picks endpoints
-- from there. docs/NGINX.md describes its use. The parts are in kubelua/ beside this file.
local library = require "resty.kubelua.library" -- first: it says what is missing
local admission = require "resty.kubelua.admission"
local admission_certificate = require "resty.kubelua.admission_certificate"
local core = require "kubelua.core"
local caches = require "resty.kubelua.cache"
local connection = require "resty.kubelua.connection"
local maps = require "resty.kubelua.map"
local collecting = require "resty.kubelua.collecting"
local dump = require "resty.kubelua.dump"
local metrics = require "resty.kubelua.metrics"
local misuse = require "kubelua.misuse"
local nginx = require "kubelua.nginx"
local options_of = require "kubelua.options"
local owner = require "resty.kubelua.owner"
local readiness = require "resty.kubelua.readiness"
local report = require "resty.kubelua.report"
local services = require "resty.kubelua.service"
local serving = require "resty.kubelua.serving"
local show = require "resty.kubelua.show"
local tables = require "resty.kubelua.tables"
local threads = require "resty.kubelua.threads"
local writes = require "resty.kubelua.writes"

-- Chunks of these files are KubeLua's own: an error names a line of the script.
core.own_source((debug.getinfo(1, "S").source:gsub("%.lua$", "")))

---@class resty.kubelua.InitOptions every key is optional
---@field connect? kubelua.ConnectOptions of kubelua.connect; default: what the environment says
---@field services? resty.kubelua.ServicesOptions|false which Services are watched; false: none
---@field tables? string[] the tables of kube.owner's scripts that count for readiness
---@field external_names? boolean serve DNS names of ExternalName Services and FQDN slices
---@field empty? "keep"|"clear" when the last usable endpoint of a service goes: none (default), or
---the last ones for a time, which is dangerous
---@field keep? number seconds of that time; default with `empty = "keep"`: 30
---@field size? integer bytes of the shared map; default: 32 MB
---@field name? string of the map; another name makes another instance; default: "default"
---@field path? string a file for the map, if the processes are not forked from one another
---@field zone? string the zone of this nginx, for picks that name no zone
---@field node? string the node of this nginx, for picks that name no node

local INIT_TYPES = { connect = "table", services = "table|boolean", tables = "table",
    empty = "string", keep = "number", external_names = "boolean",
    size = "number", name = "string", path = "string", zone = "string", node = "string" }

local KEEP, KEEP_MOST = 30, 86400 -- seconds

---@class resty.kubelua.ServicesOptions
---@field namespace? string|string[] the namespaces of the Services; default: "*", all
---@field labels? string a label selector: only Services that match are there; default: all

local SERVICES_TYPES = { namespace = "string|table", labels = "string" }

---@class resty.kubelua.InitWorkerOptions
---@field wait? number seconds to wait at most until the cluster is known; default 0

local INIT_WORKER_TYPES = { wait = "number" }

---What kube.init returns: these calls for the cluster of that kube.init. The module itself is the
---instance of the first kube.init.
---@class resty.kubelua.Instance
---@field init fun(options?: resty.kubelua.InitOptions): resty.kubelua.Instance?, string?, string?
---@field init_worker fun(options?: resty.kubelua.InitWorkerOptions): boolean?, string?, string?
---@field service fun(name: string): resty.kubelua.Service
---@field pick fun(name: string, options?: resty.kubelua.PickOptions): string?, any, integer?
---@field lookup fun(table_name: string, key: string): any
---@field owner fun(script: fun(kubelua: table))
---@field put fun(table_name: string, key: string, value: any): boolean?, string?, string?
---@field batch fun(): resty.kubelua.Batch?, string?, string?
---@field run fun(f: function, ...: any): any
---@field complete fun(table_name: string): boolean?, string?, string?
---@field synced fun(table_name?: string): boolean
---@field age fun(): number?
---@field status fun(): resty.kubelua.Status
---@field dump fun(options?: resty.kubelua.DumpOptions): table
---@field show fun()
---@field metrics fun(): string
---@field collect fun(prometheus: table)
---@field admit fun(options: resty.kubelua.AdmitOptions): resty.kubelua.Admission
---@field admission fun()
---@field admit_certificate fun(reached: kubelua.AdmitReached)
---@field admit_handshake fun()

-- The services that kube.pick has found: a cache of bounded size for each map. A weak table.
local found_names = setmetatable({}, { __mode = "k" })

local first = maps.new() -- that of the module itself
local kube ---@type resty.kubelua.Instance

local calls = {} -- the calls of an instance; the first argument of each is its map

-- An instance: its calls know its map. None has more than three arguments.
local function bind(map)
    local instance = {}
    for name, call in pairs(calls) do
        instance[name] = function(a, b, c)
            return call(map, a, b, c)
        end
    end
    instance.run = threads.run -- of no map
    instance.map = map -- for KubeLua's own modules
    return instance
end

local function check_services(wanted)
    if wanted == true then
        misuse("kube.init: 'services' is a table, such as { namespace = \"*\" }, or false")
    elseif not wanted then
        return
    end
    options_of.check("kube.init: services", wanted, SERVICES_TYPES)
    local given = wanted.namespace or "*"
    local namespaces = type(given) == "table" and given or { given }
    if #namespaces == 0 then
        misuse("kube.init: the list of namespaces is empty; \"*\" is all of them")
    end
    for _, namespace in ipairs(namespaces) do
        if namespace ~= "*" then
            core.check_namespace("kube.init", namespace)
        end
    end
end

local function check_keep(options)
    local keep = options.keep
    if keep and not (keep > 0 and keep <= KEEP_MOST) then
        misuse("kube.init: 'keep' is above 0, and at most %d seconds", KEEP_MOST)
    elseif keep and options.empty == "clear" then
        misuse("kube.init: 'empty' is \"clear\", so there is nothing to 'keep'")
    end
end

local instances = {} -- by the names of their maps

-- The map of that name, and its instance; both are new if there is none.
local function find_instance(name)
    if not first.pointer or first.name == name then
        return first, kube
    end
    local found = instances[name] or { map = maps.new() }
    found.instance = found.instance or bind(found.map)
    return found.map, found.instance
end

-- kube.init: opens the map that all workers share. It starts no thread, and makes no connection. At
-- a reload it finds the same map. Another name makes another instance, beside the first.
local function init(options)
    options = options_of.optional("kube.init", options, INIT_TYPES)
    options_of.choice("kube.init", "empty", options.empty, { keep = true, clear = true })
    check_keep(options)
    check_services(options.services)
    for _, name in ipairs(options.tables or {}) do
        writes.check_table("kube.init: tables", name)
    end
    if nginx.is_inside and not options.path and ngx.get_phase() ~= "init" then
        misuse("kube.init: call it in init_by_lua: elsewhere each worker would have its own map")
    end
    local taken = {}
    for name, value in pairs(options) do
        taken[name] = value
    end
    taken.keep = options.keep or (options.empty == "keep" and KEEP or nil)
    taken.connect, taken.guess = connection.resolve(options.connect)
    local map, instance = find_instance(maps.name_of(taken))
    local ok, message, code = map:open(taken)
    if not ok then
        return nil, message, code
    end
    if map ~= first then
        instances[map.name] = { map = map, instance = instance }
    end
    return instance
end

---Joins the workers that may watch the cluster (one does at a time). Call it in init_worker_by_lua.
---With `wait` it returns once the cluster is known and the tables of kube.init are complete, so
---that the first request finds them. If that takes longer, the worker begins anyway, and picks
---return "not_synced".
---@param map resty.kubelua.Map
---@param options resty.kubelua.InitWorkerOptions?
---@return boolean?, string?, string? true; or nil, message, code: also "timeout"
function calls.init_worker(map, options)
    options = options_of.optional("kube.init_worker", options, INIT_WORKER_TYPES)
    map:check_open("kube.init_worker")
    local ok, message, code = serving.start(map)
    owner.supervise()
    if not ok and code ~= "config" then
        return nil, message, code
    end
    local is_ready, why, reason = serving.wait(map, options.wait or 0)
    if not ok and not map.is_served then
        return nil, message, code
    end
    return is_ready, why, reason
end

---A port of a Service. Call it once, and keep the result in a module or an upvalue. The Service
---need not exist yet.
---@param map resty.kubelua.Map
---@param name string "namespace/service:port", where the port is a name or a number
---@return resty.kubelua.Service
function calls.service(map, name)
    map:check_open("kube.service")
    if type(name) ~= "string" or not name:find("^[^/:]+/[^/:]+:?[^/:]*$") then
        misuse("kube.service: a name such as \"web/shop:http\" expected, not %s",
            type(name) == "string" and "\"" .. name .. "\"" or "a " .. type(name))
    end
    local service = services.new(map, name)
    if not service then
        misuse("kube.service: \"%s...\" is too long for a name", name:sub(1, 60))
    end
    return service --[[@as resty.kubelua.Service]]
end

---Picks an endpoint by name, for names that come with the request. A worker remembers the names
---that it has found, in bounded memory.
---@param map resty.kubelua.Map
---@param name string "namespace/service:port"
---@param options resty.kubelua.PickOptions?
---@return string? host nil: there is none
---@return integer|"unknown"|"empty"|"not_synced"|nil port or the reason why there is none
---@return integer? version
---@return true? is_name the host is a name that the caller resolves; see Service:pick
function calls.pick(map, name, options)
    local by_name = found_names[map]
    local service = by_name and by_name:get(name)
    if service then
        return service:pick(options)
    end
    map:check_open("kube.pick")
    if type(name) ~= "string" then
        misuse("kube.pick: a name such as \"web/shop:http\" expected, not a %s", type(name))
    end
    service = services.new(map, name)
    if not service then
        return nil, "unknown"
    end
    local host, port, version, is_name = service:pick(options)
    if host then
        found_names[map] = by_name or caches.new(4096)
        found_names[map]:set(name, service)
    end
    return host, port, version, is_name
end

---The value that a script of kube.owner has put; nil: there is none. Do not change a table: all
---requests of this worker share it.
---@param map resty.kubelua.Map
---@param table_name string
---@param key string
---@return any
function calls.lookup(map, table_name, key)
    map:check_open("kube.lookup")
    return tables.lookup(map, table_name, key)
end

---Runs a script in the worker that watches the cluster, and again in the next one when that worker
---ends. kubelua.connect() there is the cluster of kube.init; informers, handlers, controllers and
---kubelua.every work as usual. Call it in init_by_lua or init_worker_by_lua.
---@param map resty.kubelua.Map
---@param script fun(kubelua: table)
function calls.owner(map, script)
    if type(script) ~= "function" then
        misuse("kube.owner: a function expected, not a %s", type(script))
    end
    owner.add(map, script)
    if map.is_started then
        owner.supervise()
    end
end

---Puts a value for kube.lookup; for scripts of kube.owner. nil removes the value. Values that are
---put in one round of handlers become visible together.
---@param map resty.kubelua.Map
---@param table_name string any name but "services", at most 31 bytes
---@param key string at most 511 bytes
---@param value any a string, number, boolean or table
---@return boolean?, string?, string? # nil, message, code: "closed" if another worker is the owner
function calls.put(map, table_name, key, value)
    map:check_open("kube.put")
    return writes.put(map, table_name, key, value)
end

---Puts that are made ready a few at a time, between other work, and published together.
function calls.batch(map)
    map:check_open("kube.batch")
    return writes.batch(map)
end

---Declares a table complete: entries that an earlier owner has left in it are removed. Call it when
---the informers that fill the table have synced.
---@param map resty.kubelua.Map
---@param table_name string
---@return boolean?, string?, string?
function calls.complete(map, table_name)
    map:check_open("kube.complete")
    return writes.complete(map, table_name)
end

---True once the cluster is known and the tables of kube.init are complete; for a readiness probe.
---It stays true while the server is down.
---@param map resty.kubelua.Map
---@param table_name string? this table alone; "services": the endpoints alone
---@return boolean
function calls.synced(map, table_name)
    return readiness.is_ready(map, table_name)
end

---Seconds since the owner last heard from the API server, on the watch that has been silent for
---longest, also of its scripts; nil: never.
---@param map resty.kubelua.Map
---@return number?
function calls.age(map)
    map:check_open("kube.age")
    local age = tonumber(library.kl_shared_age_ms(map.pointer))
    return age >= 0 and age / 1000 or nil
end

---The state of the map as a new table, with what is left out because it does not fit.
---@param map resty.kubelua.Map
---@return resty.kubelua.Status
function calls.status(map)
    map:check_open("kube.status")
    return report.read(map)
end

---What is there, as a new table: the owner, the tables, and Services with all endpoints. In phases
---of nginx that can wait, other requests go on meanwhile. docs/NGINX.md has the fields.
---@param map resty.kubelua.Map
---@param options resty.kubelua.DumpOptions?
---@return table
function calls.dump(map, options)
    map:check_open("kube.dump")
    return dump.make("kube.dump", dump.work(map, options or {}), dump.SECTIONS)
end

---Answers with the same as JSON: for content_by_lua. The arguments of the query are the options.
---@param map resty.kubelua.Map
function calls.show(map)
    map:check_open("kube.show")
    show.serve("kube.show", dump.SECTIONS, function(options)
        return dump.work(map, options)
    end)
end

---The state of the map, as Prometheus text. The module's own call has all maps: the lines of the
---first have no label, those of the others the label `name`.
---The first instance adds what kubelua.metric counts in this worker.
---@param map resty.kubelua.Map
---@return string
function calls.metrics(map)
    map:check_open("kube.metrics")
    local text = metrics.text(map == first and maps.all or { map }, first)
    return map == first and text .. (core.metrics_text() or "") or text
end

---Hands the same metrics to nginx-lua-prometheus; call it before prometheus:collect().
---@param map resty.kubelua.Map
---@param prometheus table
function calls.collect(map, prometheus)
    if type(prometheus) ~= "table" or type(prometheus.gauge) ~= "function" then
        error("kube.collect: the object of nginx-lua-prometheus expected, as in "
            .. "require(\"prometheus\").init(\"prometheus_metrics\")", 2)
    end
    collecting.tell(prometheus, calls.metrics(map))
end

---Registers an admission webhook, which the location of kube.admission answers. Call it in
---init_by_lua. The functions run in each worker, and read what a script of kube.owner has put.
---@param map resty.kubelua.Map
---@param given resty.kubelua.AdmitOptions
---@return resty.kubelua.Admission
function calls.admit(map, given)
    map:check_open("kube.admit")
    return admission.admit(map, given, {
        lookup = function(...) return calls.lookup(map, ...) end,
        pick = function(...) return calls.pick(map, ...) end,
    })
end

---Answers an AdmissionReview: for content_by_lua of a location /admit/.
---@param map resty.kubelua.Map
function calls.admission(map)
    map:check_open("kube.admission")
    admission.serve(map)
end

calls.admit_certificate = admission_certificate.keep
calls.admit_handshake = admission_certificate.handshake

kube = bind(first)
kube.init, kube._VERSION = init, core.version

return kube
