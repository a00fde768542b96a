-- The measurements of bench/nginx. Each one starts an nginx, measures it and stops it.
local copies = require "nginx_copies"
local core = require "kubelua.core"
local eventually = require "eventually"
local ffi = require "ffi"
local kubelua = require "kubelua"
local nginx_world = require "nginx_world"
local slices = require "slices"
local traffic = require "nginx_traffic"

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

local function start(options)
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
    local world = start { workers = 1, load = services(10000) }
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

-- Seconds of CPU that the threads of a process have used; with `main`, that its first one has.
local function cpu_of(pid, main)
    local said = copies.shell("cat /proc/" .. pid .. "/task/" .. (main and pid or "*")
        .. "/schedstat")
    local sum = 0
    for line in said:gmatch("[^\n]+") do
        sum = sum + tonumber(line:match("^%d+")) / 1e9
    end
    return sum
end

local PROXY = [[proxy_http_version 1.1; proxy_set_header Connection "";]]

---Microseconds of CPU that a worker needs for a request, by where it picks: medians of rounds.
function measures.requests(seconds)
    local world = start {
        workers = 1,
        http = [[
            upstream in_balancer {
                server 0.0.0.1;
                balancer_by_lua_block {
                    local balancer = require "ngx.balancer"
                    balancer.set_current_peer(kube.pick("web/shop:http"))
                }
                keepalive 16;
            }
            upstream constant {
                server 0.0.0.1;
                balancer_by_lua_block {
                    local balancer = require "ngx.balancer"
                    balancer.set_current_peer("127.0.0.1", @backend_port@)
                }
                keepalive 16;
            }
            upstream empty {
                server 127.0.0.1:@backend_port@;
                balancer_by_lua_block { }
                keepalive 16;
            }
        ]],
        server = "location /balancer { proxy_pass http://in_balancer; " .. PROXY .. " }\n"
            .. "location /constant { proxy_pass http://constant; " .. PROXY .. " }\n"
            .. "location /empty { proxy_pass http://empty; " .. PROXY .. " }\n",
    }
    local pid = world.one:workers()[1]
    local paths = { static = "/static", access = "/kube", balancer = "/balancer",
        empty = "/empty", constant = "/constant" }
    local costs = { static = {}, access = {}, balancer = {}, empty = {}, constant = {} }
    for round = 0, 6 do
        for name, path in pairs(paths) do
            local flow = traffic.start(world.one, { one = path }, { connections = 8, rate = 0 })
            local before = cpu_of(pid, true)
            kubelua.step(0) -- nothing of the measurement before is left
            local ends = core.now() + seconds / 5
            while core.now() < ends do
                kubelua.step(ends - core.now())
            end
            local tally = flow:stop().one
            assert(tally.failed == 0, tally.line)
            if round > 0 then
                table.insert(costs[name], (cpu_of(pid, true) - before) / tally.requests * 1e6)
            end
        end
    end
    world:close()
    local medians = {}
    for name, values in pairs(costs) do
        medians[name] = sorted(values).p50
    end
    return medians
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
    local world = start { workers = 3, init_worker = "require('inside').watch()" }
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
    local world = start { workers = 3, init_worker = "require('inside').watch()" }
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
    local world = start {
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
    local owner_cpu, reader_cpu, begun = cpu_of(owner), cpu_of(reader), core.now()
    local count = world:repeatedly(1000, seconds, function(number)
        world:route { world.addresses[number % 4 + 1] }
    end)
    local taken = core.now() - begun
    local shares = {
        owner = (cpu_of(owner) - owner_cpu) / taken, reader = (cpu_of(reader) - reader_cpu) / taken,
        rate = count / taken, connections = connections,
    }
    world:close()
    return shares
end

return measures
