-- KubeLua in nginx (OpenResty, or nginx with its Lua module): one worker of a machine watches the
-- cluster, and every worker picks endpoints out of memory that they share. docs/NGINX.md tells how;
-- the parts are in kubelua/ beside this file.
local library = require "resty.kubelua.library" -- first: it says what is missing
local core = require "kubelua.core"
local caches = require "resty.kubelua.cache"
local connection = require "resty.kubelua.connection"
local map = require "resty.kubelua.map"
local metrics = require "resty.kubelua.metrics"
local misuse = require "kubelua.misuse"
local options_of = require "kubelua.options"
local owner = require "resty.kubelua.owner"
local services = require "resty.kubelua.service"
local serving = require "resty.kubelua.serving"
local tables = require "resty.kubelua.tables"
local writes = require "resty.kubelua.writes"

-- Errors of a script are not raised at a line of these files.
core.own_source((debug.getinfo(1, "S").source:gsub("%.lua$", "")))

---@class resty.kubelua.InitOptions every key is optional
---@field connect? kubelua.ConnectOptions as for kubelua.connect; default: what it would read
---@field services? resty.kubelua.ServicesOptions|false which Services are watched; false: none
---@field empty? "keep"|"clear" a service whose last endpoint goes keeps it (default), or has none
---@field size? integer bytes of the shared map; 32 MB
---@field name? string of the map, where a process has several; "default"
---@field path? string a file for the map, where the processes are not forked from one another
---@field zone? string where this nginx runs, for picks that name no zone
---@field node? string the same for nodes
local INIT_TYPES = { connect = "table", services = "table|boolean", empty = "string",
    size = "number", name = "string", path = "string", zone = "string", node = "string" }

---@class resty.kubelua.ServicesOptions
---@field namespace? string|string[] whose Services; default: "*", all of them
local SERVICES_TYPES = { namespace = "string|table" }

---@class resty.kubelua.InitWorkerOptions
---@field wait? number seconds to wait, at most, until the cluster is known; 0: not at all
local INIT_WORKER_TYPES = { wait = "number" }

local kube = { _VERSION = core.version }

local by_name = caches.new(4096) -- services that kube.pick has found

local function check_open(call)
    if not map.pointer then
        misuse("%s: there is no map; call kube.init in init_by_lua", call)
    end
end

---Makes the map that all workers share, in init_by_lua: before nginx forks them. No thread, no
---connection. Called again, at a reload, it finds the same map.
---@param options resty.kubelua.InitOptions?
---@return boolean?, string?, string? true; or nil, message, code
function kube.init(options)
    options = options_of.optional("kube.init", options, INIT_TYPES)
    options_of.choice("kube.init", "empty", options.empty, { keep = true, clear = true })
    if type(options.services) == "table" then
        options_of.check("kube.init: services", options.services, SERVICES_TYPES)
    elseif options.services == true then
        misuse("kube.init: 'services' is a table, such as { namespace = \"*\" }, or false")
    end
    local taken = {}
    for name, value in pairs(options) do
        taken[name] = value
    end
    taken.connect = connection.resolve(options.connect)
    return map.open(taken)
end

---Joins the workers that watch the cluster, one at a time, in init_worker_by_lua. With `wait` it
---returns once the cluster is known, so that the first request finds it; when that takes longer
---the worker begins without, and picks say "not_synced".
---@param options resty.kubelua.InitWorkerOptions?
---@return boolean?, string?, string? true; or nil, message, code: also "timeout"
function kube.init_worker(options)
    options = options_of.optional("kube.init_worker", options, INIT_WORKER_TYPES)
    check_open("kube.init_worker")
    local ok, message, code = serving.start()
    if not ok then
        return nil, message, code
    end
    owner.supervise()
    return serving.wait(options.wait or 0)
end

---A port of a Service, resolved once: keep it in a module or an upvalue. It need not exist yet.
---@param name string "namespace/service:port", where the port is a name or a number
---@return resty.kubelua.Service
function kube.service(name)
    check_open("kube.service")
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

---Picks one endpoint by name, for names that come with the request. A worker remembers the names
---that it found, within a bound.
---@param name string "namespace/service:port"
---@param options resty.kubelua.PickOptions?
---@return string? host nil: there is none
---@return integer|"unknown"|"empty"|"not_synced" port or why there is none
---@return integer? version
function kube.pick(name, options)
    local service = by_name:get(name)
    if service then
        return service:pick(options)
    end
    check_open("kube.pick")
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

---What a script of kube.owner has put; nil: nothing. A table is for reading only: all requests of
---this worker share it.
---@param table_name string
---@param key string
---@return any
function kube.lookup(table_name, key)
    check_open("kube.lookup")
    return tables.lookup(table_name, key)
end

---Runs a script in the worker that watches the cluster, and again in the next one when that worker
---ends: kubelua.connect() there is the cluster of kube.init; informers, handlers, controllers,
---kubelua.every work as everywhere. Call it in init_by_lua or init_worker_by_lua.
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

---Puts a value for kube.lookup, in a script of kube.owner. Nil removes. Values that are put in one
---round of handlers appear together.
---@param table_name string of your own, at most 31 bytes
---@param key string at most 511 bytes
---@param value any a string, number, boolean or table
---@return boolean?, string?, string? nil, message, code: "closed" where another worker is the owner
function kube.put(table_name, key, value)
    check_open("kube.put")
    return writes.put(table_name, key, value)
end

---Says that a table has all that it should: what an owner before has left there is removed. Call it
---when the informers that fill the table have synced.
---@param table_name string
---@return boolean?, string?, string?
function kube.complete(table_name)
    check_open("kube.complete")
    return writes.complete(table_name)
end

---True once the cluster is known: for a readiness probe. It stays true while the server is away.
---@return boolean
function kube.synced()
    return map.is_synced()
end

---Seconds since the owner last heard of the API server; nil: it never has.
---@return number?
function kube.age()
    check_open("kube.age")
    local age = tonumber(library.kl_shared_age_ms(map.pointer))
    return age >= 0 and age / 1000 or nil
end

---The state of the map, as Prometheus text.
---@return string
function kube.metrics()
    check_open("kube.metrics")
    return metrics.text()
end

return kube
