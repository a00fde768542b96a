-- The measurements of bench/nginx. Each one starts an nginx, measures it and stops it.
local copies = require "nginx_copies"
local core = require "kubelua.core"
local eventually = require "eventually"
local ffi = require "ffi"
local kubelua = require "kubelua"
local nginx_world = require "nginx_world"
local slices = require "slices"

ffi.cdef "int kill(int pid, int signal);"

local measures = {}

local DICTIONARY = "lua_shared_dict bench 64m;\n"
local PATH = "package.path = '" .. copies.shell("pwd") .. "/bench/nginx/?.lua;' .. package.path "
local LOCATIONS = [[
    location /reads { content_by_lua_block { require("inside").reads() } }
    location /seen { content_by_lua_block { require("inside").seen() } }
]]

local function services(count)
    local texts = {}
    for i = 1, count do
        local name = string.format("s%05d", i)
        texts[#texts + 1] = slices.service("many", name)
        texts[#texts + 1] = slices.slice("many", name, name .. "-1",
            { "127.0.0.1", "127.0.0.2", "127.0.0.3" }, 8080)
    end
    return slices.list(texts)
end

---Starts a world for measurements.
---@param options spec.NginxWorldOptions
function measures.start(options)
    options.http = DICTIONARY .. (options.http or "")
    options.server = LOCATIONS .. (options.server or "")
    options.init_worker = PATH .. (options.init_worker or "")
    options.level = "warn"
    return nginx_world.start(options)
end

local function sorted(values)
    table.sort(values)
    return {
        p50 = values[math.ceil(#values * 0.5)], p99 = values[math.ceil(#values * 0.99)],
        longest = values[#values],
    }
end

---Nanoseconds of each way to read, by "NAME COUNT".
function measures.reads()
    local world = measures.start { workers = 1, load = services(10000) }
    local status, body = world.one:get("/reads", 300)
    assert(status == 200, body .. world.one:said())
    local reads = {}
    for name, value in body:gmatch("(%S+ %d+) ([%d.]+)") do
        reads[name] = tonumber(value)
    end
    world:close()
    return reads
end

---Milliseconds of a publish.
function measures.rebuild()
    local said, status = copies.shell(copies.build .. "/spec/rebuild")
    assert(status == 0, said)
    local p50, longest = said:match("(%S+) (%S+)")
    return { p50 = tonumber(p50), longest = tonumber(longest) }
end

---Seconds of CPU that the threads of a process have used; with `main`, that its first one has.
function measures.cpu_of(pid, main)
    local said = copies.shell("cat /proc/" .. pid .. "/task/" .. (main and pid or "*")
        .. "/schedstat")
    local sum = 0
    for line in said:gmatch("[^\n]+") do
        sum = sum + tonumber(line:match("^%d+")) / 1e9
    end
    return sum
end

-- "seen PID HOST" and "owner PID OWNER" to the time when that worker saw it.
local function read_seen(world)
    local status, body = world.one:get("/seen")
    assert(status == 200, body)
    local seen = {}
    for key, time in body:gmatch("(%a+ %d+ %S+) ([%d.]+)") do
        seen[key] = tonumber(time)
    end
    return seen
end

---Seconds from a change at the API server until the last worker picks by it.
function measures.changes(seconds)
    local world = measures.start { workers = 3, init_worker = "require('inside').watch()" }
    world:follows()
    local made = {}
    world:repeatedly(40, math.max(seconds, 3), function(number)
        local host = string.format("10.1.%d.%d", math.floor(number / 250), number % 250 + 1)
        made[host] = core.now()
        world:route { host }
    end)
    kubelua.step(0.2)
    local seen, delays = read_seen(world), {}
    for host, time in pairs(made) do
        local last = 0
        for _, pid in ipairs(world.one:workers()) do
            last = math.max(last, assert(seen["seen " .. pid .. " " .. host], host) - time)
        end
        delays[#delays + 1] = last
    end
    world:close()
    return sorted(delays)
end

---Seconds from kill -9 of the owner until another worker is the owner.
function measures.takeovers(times)
    local world = measures.start { workers = 3, init_worker = "require('inside').watch()" }
    local delays = {}
    for _ = 1, times do
        local old = world:owner()
        world.one.killed[old] = true
        local killed = core.now()
        ffi.C.kill(tonumber(old), 9)
        local new = eventually(function()
            local owner = world:owner()
            return owner ~= old and owner
        end, "another owner")
        local first
        for key, time in pairs(read_seen(world)) do
            if key:match("^owner %d+ (%d+)$") == new and time > killed then
                first = math.min(first or time, time)
            end
        end
        delays[#delays + 1] = first - killed
        eventually(function()
            return #world.one:workers() == 3
        end, "three workers")
    end
    world:close()
    return sorted(delays)
end

---Cores that the owner and another worker use at 1,000 changes a second; a timer of each worker
---picks each 10 ms.
function measures.shares(seconds)
    local world = measures.start {
        workers = 4, load = services(1000),
        init_worker = [[
            ngx.timer.every(0.01, function() kube.pick("web/shop:http") end)
        ]],
    }
    local owner, reader = world:owner(), nil
    for _, pid in ipairs(world.one:workers()) do
        reader = pid ~= owner and pid or reader
    end
    local connections = world:connections()
    local owner_cpu, reader_cpu = measures.cpu_of(owner), measures.cpu_of(reader)
    local begun = core.now()
    local count = world:repeatedly(1000, seconds, function(number)
        world:route { world.addresses[number % 4 + 1] }
    end)
    local taken = core.now() - begun
    local shares = {
        owner = (measures.cpu_of(owner) - owner_cpu) / taken,
        reader = (measures.cpu_of(reader) - reader_cpu) / taken,
        rate = count / taken, connections = connections,
    }
    world:close()
    return shares
end

return measures
