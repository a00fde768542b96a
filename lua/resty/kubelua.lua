-- KubeLua in nginx (OpenResty, or nginx with its Lua module): one worker of a machine watches the
-- cluster, and writes the endpoints of Services into shared memory; every worker picks endpoints
-- from there. docs/NGINX.md describes its use. The parts are in kubelua/ beside this file.
local library = require "resty.kubelua.library" -- first: it says what is missing
local core = require "kubelua.core"
local caches = require "resty.kubelua.cache"
local connection = require "resty.kubelua.connection"
local log = require "kubelua.log"
local map = require "resty.kubelua.map"
local metrics = require "resty.kubelua.metrics"
local misuse = require "kubelua.misuse"
local nginx = require "kubelua.nginx"
local options_of = require "kubelua.options"
local owner = require "resty.kubelua.owner"
local services = require "resty.kubelua.service"
local serving = require "resty.kubelua.serving"
local tables = require "resty.kubelua.tables"
local writes = require "resty.kubelua.writes"

-- Chunks of these files are KubeLua's own: an error names a line of the script.
core.own_source((debug.getinfo(1, "S").source:gsub("%.lua$", "")))

---@class resty.kubelua.InitOptions every key is optional
---@field connect? kubelua.ConnectOptions of kubelua.connect; default: what the environment says
---@field services? resty.kubelua.ServicesOptions|false which Services are watched; false: none
---@field empty? "keep"|"clear" when the last endpoint of a service goes: keep it (default), or not
---@field size? integer bytes of the shared map; default: 32 MB
---@field name? string of the map, if a process has several; default: "default"
---@field path? string a file for the map, if the processes are not forked from one another
---@field zone? string the zone of this nginx, for picks that name no zone
---@field node? string the node of this nginx, for picks that name no node
local INIT_TYPES = { connect = "table", services = "table|boolean", empty = "string",
    size = "number", name = "string", path = "string", zone = "string", node = "string" }

---@class resty.kubelua.ServicesOptions
---@field namespace? string|string[] the namespaces of the Services; default: "*", all
---@field labels? string a label selector: only Services that match are there; default: all
local SERVICES_TYPES = { namespace = "string|table", labels = "string" }

---@class resty.kubelua.InitWorkerOptions
---@field wait? number seconds to wait at most until the cluster is known; default 0
local INIT_WORKER_TYPES = { wait = "number" }

local kube = { _VERSION = core.version }

local by_name = caches.new(4096) -- services that kube.pick has found

local function check_map_open(call)
    if not map.pointer then
        misuse("%s: there is no map; call kube.init in init_by_lua", call)
    end
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

---Opens the map that all workers share. Call it in init_by_lua, before nginx forks the workers. It
---starts no thread, and makes no connection. At a reload it finds the same map.
---@param options resty.kubelua.InitOptions?
---@return boolean?, string?, string? true; or nil, message, code
function kube.init(options)
    options = options_of.optional("kube.init", options, INIT_TYPES)
    options_of.choice("kube.init", "empty", options.empty, { keep = true, clear = true })
    check_services(options.services)
    if nginx.is_inside and not options.path and ngx.get_phase() ~= "init" then
        misuse("kube.init: call it in init_by_lua: elsewhere each worker would have its own map")
    end
    local taken = {}
    for name, value in pairs(options) do
        taken[name] = value
    end
    taken.connect = connection.resolve(options.connect)
    return map.open(taken)
end

---Joins the workers that may watch the cluster (one does at a time). Call it in init_worker_by_lua.
---With `wait` it returns once the cluster is known, so that the first request finds it. If that
---takes longer, the worker begins anyway, and picks return "not_synced".
---@param options resty.kubelua.InitWorkerOptions?
---@return boolean?, string?, string? true; or nil, message, code: also "timeout"
function kube.init_worker(options)
    options = options_of.optional("kube.init_worker", options, INIT_WORKER_TYPES)
    check_map_open("kube.init_worker")
    local ok, message, code = serving.start()
    if not ok then
        log("error", "kube.init_worker: %s", message)
        return nil, message, code
    end
    owner.supervise()
    return serving.wait(options.wait or 0)
end

---A port of a Service. Call it once, and keep the result in a module or an upvalue. The Service
---need not exist yet.
---@param name string "namespace/service:port", where the port is a name or a number
---@return resty.kubelua.Service
function kube.service(name)
    check_map_open("kube.service")
    if type(name) ~= "string" or not name:find("^[^/:]+/[^/:]+:?[^/:]*$") then
        misuse("kube.service: a name such as \"web/shop:http\" expected, not %s",
            type(name) == "string" and "\"" .. name .. "\"" or "a " .. type(name))
    end
    local service = services.new(name)
    if not service then
        misuse("kube.service: \"%s...\" is too long for a name", name:sub(1, 60))
    end
    return service --[[@as resty.kubelua.Service]]
end

---Picks an endpoint by name, for names that come with the request. A worker remembers the names
---that it has found, in bounded memory.
---@param name string "namespace/service:port"
---@param options resty.kubelua.PickOptions?
---@return string? host nil: there is none
---@return integer|"unknown"|"empty"|"not_synced" port or the reason why there is none
---@return integer? version
function kube.pick(name, options)
    local service = by_name:get(name)
    if service then
        return service:pick(options)
    end
    check_map_open("kube.pick")
    if type(name) ~= "string" then
        misuse("kube.pick: a name such as \"web/shop:http\" expected, not a %s", type(name))
    end
    service = services.new(name)
    if not service then
        return nil, "unknown"
    end
    local host, port, version = service:pick(options)
    if host then
        by_name:set(name, service)
    end
    return host, port, version
end

---The value that a script of kube.owner has put; nil: there is none. Do not change a table: all
---requests of this worker share it.
---@param table_name string
---@param key string
---@return any
function kube.lookup(table_name, key)
    check_map_open("kube.lookup")
    return tables.lookup(table_name, key)
end

---Runs a script in the worker that watches the cluster, and again in the next one when that worker
---ends. kubelua.connect() there is the cluster of kube.init; informers, handlers, controllers and
---kubelua.every work as usual. Call it in init_by_lua or init_worker_by_lua.
---@param script fun(kubelua: table)
function kube.owner(script)
    if type(script) ~= "function" then
        misuse("kube.owner: a function expected, not a %s", type(script))
    end
    owner.add(script)
    if serving.has_started() then
        owner.supervise()
    end
end

---Puts a value for kube.lookup; for scripts of kube.owner. nil removes the value. Values that are
---put in one round of handlers become visible together.
---@param table_name string any name but "services", at most 31 bytes
---@param key string at most 511 bytes
---@param value any a string, number, boolean or table
---@return boolean?, string?, string? nil, message, code: "closed" if another worker is the owner
function kube.put(table_name, key, value)
    check_map_open("kube.put")
    return writes.put(table_name, key, value)
end

---Declares a table complete: entries that an earlier owner has left in it are removed. Call it when
---the informers that fill the table have synced.
---@param table_name string
---@return boolean?, string?, string?
function kube.complete(table_name)
    check_map_open("kube.complete")
    return writes.complete(table_name)
end

---True once the cluster is known; for a readiness probe. It stays true while the server is down.
---@return boolean
function kube.synced()
    return map.is_synced()
end

---Seconds since the owner last heard from the API server; nil: never.
---@return number?
function kube.age()
    check_map_open("kube.age")
    local age = tonumber(library.kl_shared_age_ms(map.pointer))
    return age >= 0 and age / 1000 or nil
end

---The state of the map, as Prometheus text.
---@return string
function kube.metrics()
    check_map_open("kube.metrics")
    return metrics.text()
end

return kube
