-- The part of bench/nginx that runs inside a worker: the time of one read, and when this worker
-- sees a change or a new owner.
local core = require "kubelua.core"
local ffi = require "ffi"
local kube = require "resty.kubelua"
local library = require "resty.kubelua.library"
local lrucache = require "resty.lrucache"
local map = require "resty.kubelua.map"

local inside = {}

local SERVICES, TURNS, ROUNDS = 10000, 200000, 9

local function name_of(number)
    return string.format("many/s%05d:http", number)
end

-- The least nanoseconds of a read in several rounds, with the services in a random order.
local function time_of(count, prepare, read)
    local things, order = {}, {}
    for i = 1, count do
        things[i] = prepare(name_of(i))
    end
    local at = 1
    for i = 1, TURNS do
        at = (at * 1103515245 + 12345) % 2147483648
        order[i] = things[at % count + 1]
    end
    local least
    for _ = 1, ROUNDS do
        local begun = core.now()
        for i = 1, TURNS do
            read(order[i])
        end
        local taken = (core.now() - begun) / TURNS * 1e9
        least = math.min(least or taken, taken)
    end
    return least
end

local function pass(value)
    return value
end

local READS = {}

function READS.ffi_pick(count)
    local pick = ffi.new("kl_pick")
    return time_of(count, function(name)
        return map.key("services", name)
    end, function(key)
        assert(library.kl_shared_pick(map.pointer, key, nil, pick) == 0)
        return ffi.string(pick.host, pick.host_length), pick.port
    end)
end

function READS.table_with_version(count)
    return time_of(count, kube.service, function(service)
        local host, port = service:pick()
        assert(host)
        return host, port
    end)
end

function READS.pick_by_hash(count)
    local options = { hash = "192.0.2.7" }
    return time_of(count, kube.service, function(service)
        local host, port = service:pick(options)
        assert(host)
        return host, port
    end)
end

function READS.pick_by_name(count)
    return time_of(count, pass, function(name)
        return assert(kube.pick(name))
    end)
end

local NODES = '{"http":[{"host":"127.0.0.1","port":8080,"weight":50},'
    .. '{"host":"127.0.0.2","port":8080,"weight":50},{"host":"127.0.0.3","port":8080,"weight":50}]}'

function READS.shared_dictionary(count)
    local dictionary = ngx.shared.bench
    for i = 1, count do
        assert(dictionary:safe_set(name_of(i), NODES))
    end
    return time_of(count, pass, function(name)
        return assert(dictionary:get(name))
    end)
end

-- Like APISIX: the version from the dictionary, the nodes from the worker's cache.
function READS.dictionary_and_cache(count)
    local dictionary, cache = ngx.shared.bench, lrucache.new(count)
    for i = 1, count do
        assert(dictionary:safe_set(name_of(i) .. "#version", i))
        cache:set(name_of(i), { version = i, nodes = { "127.0.0.1" } })
    end
    return time_of(count, pass, function(name)
        local version = dictionary:get(name .. "#version")
        local kept = cache:get(name)
        assert(kept.version == version)
        return kept.nodes
    end)
end

---Prints "NAME COUNT NANOSECONDS" for each way to read.
function inside.reads()
    for _, name in ipairs { "ffi_pick", "table_with_version", "pick_by_hash", "pick_by_name",
        "shared_dictionary", "dictionary_and_cache" } do
        for _, count in ipairs { 100, SERVICES } do
            ngx.say(name, " ", count, " ", string.format("%.1f", READS[name](count)))
        end
    end
end

---Looks each millisecond at the endpoint of web/shop and at the owner, and writes into the
---dictionary when this worker saw them first: "seen PID HOST", "owner PID OWNER".
function inside.watch()
    assert(ngx.timer.at(0, function()
        local service = kube.service("web/shop:http")
        local dictionary, pid, host, owner = ngx.shared.bench, ngx.worker.pid(), nil, nil
        while not ngx.worker.exiting() do
            local now_host, now_owner = service:pick(), map.status().owner_pid
            if now_host ~= host then
                host = now_host
                dictionary:set("seen " .. pid .. " " .. tostring(host), core.now())
            end
            if now_owner ~= owner then
                owner = now_owner
                dictionary:set("owner " .. pid .. " " .. owner, core.now())
            end
            ngx.sleep(0.001)
        end
    end))
end

---Prints what `watch` wrote: "seen PID HOST TIME".
function inside.seen()
    for _, key in ipairs(ngx.shared.bench:get_keys(0)) do
        if key:find("^seen ") or key:find("^owner ") then
            ngx.say(key, " ", string.format("%.6f", ngx.shared.bench:get(key)))
        end
    end
end

return inside
