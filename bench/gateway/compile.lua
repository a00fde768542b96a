-- What compile costs with 10,000 routes: the first run, then one change of each sort. Usage, in the
-- root of the tree: luajit bench/gateway/compile.lua (or lua5.4). Prints the median of 21.
package.path = "lua/?.lua;spec/gateway/?.lua;" .. package.path
local objects = require "gateway_objects"

local ROUTES, SERVICES, TIMES = 10000, 1000, 21
local clock = os.clock

local compiler = objects.compiler(nil, objects.gateway("web/gate",
    { objects.listener("http", 80), objects.listener("more", 8080) }))

local function route_of(i, path)
    local rules = {}
    for n = 1, 3 do
        rules[n] = { matches = { { path = { value = path .. n } } },
            backendRefs = { { name = "service-" .. i % SERVICES, port = 80 } } }
    end
    return objects.route("web/route-" .. i, { rules = rules,
        hostnames = { ("host-%d.example.com"):format(i % 1000) } })
end

local routes, generation = {}, 1
for i = 1, SERVICES do
    compiler:set("Service", objects.service("web/service-" .. i - 1))
end
for i = 1, ROUTES do
    routes[i] = route_of(i, ("/%d/"):format(i))
    compiler:set("HTTPRoute", routes[i])
end

local function write_statuses(result)
    for _, item in ipairs(result.statuses) do
        item.object.status = item.status
    end
end

local function measure(name, change)
    local times = {}
    for i = 1, TIMES do
        local start = clock()
        change(i)
        local result = compiler:run()
        times[i] = clock() - start
        write_statuses(result)
    end
    table.sort(times)
    print(("%-46s %9.3f ms"):format(name, times[(TIMES + 1) / 2] * 1000))
end

local start = clock()
local result = compiler:run()
print(("%-46s %9.3f ms"):format("10,000 routes, 1,000 hosts, the first run",
    (clock() - start) * 1000))
write_statuses(result)

local function next_of(object)
    generation = generation + 1
    object.metadata.generation, object.metadata.uid = generation, "uid"
    return object
end

measure("one route changes", function(i)
    compiler:set("HTTPRoute", next_of(route_of(i, ("/changed/%d/"):format(i))))
end)
measure("one route's status was written", function(i)
    compiler:set("HTTPRoute", routes[ROUTES - i])
end)
measure("a Service of 10 routes goes or comes", function(i)
    local service = objects.service("web/service-7")
    if i % 2 == 1 then
        compiler:delete("Service", service)
    else
        compiler:set("Service", service)
    end
end)
measure("a listener is added: all routes attach anew", function(i)
    compiler:set("Gateway", next_of(objects.gateway("web/gate", { objects.listener("http", 80),
        objects.listener("more", 8080), objects.listener("new", 9000 + i) })))
end)
