-- How long the gateway keeps a worker of a real nginx at a time, with 10,000 routes, under load:
-- when it is asked for a dump, when all are replaced, when a listener comes, when the owner is
-- killed. Prints a table. Usage: bench/gateway/run, or stalls.lua [ROUTES [HOSTS]]; status 1: a
-- piece of work took more than 10 ms.
package.path = "lua/?.lua;lua/?/init.lua;sim/lua/?.lua;spec/support/?.lua;bench/gateway/?.lua;"
    .. package.path
package.cpath = (os.getenv("KUBELUA_BUILD") or "build") .. "/lua/5.1/?.so;" .. package.cpath

local copies = require "nginx_copies"
local eventually = require "eventually"
local gateway_yaml = require "gateway_yaml"
local watched = require "watched"

local ROUTES, HOSTS, MOST_MS = tonumber(arg[1]) or 10000, tonumber(arg[2]) or 1000, 10

local ROUTE = [[
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: route-%d, namespace: web}
spec:
  parentRefs: [{name: main}]
  hostnames: [host-%d.example.com]
  rules:
  - matches: [{path: {type: PathPrefix, value: /%s/%d}}]
    backendRefs: [{name: one, port: 80}]
---
]]

local function routes(word)
    local texts = {}
    for i = 1, ROUTES do
        texts[i] = ROUTE:format(i, i % HOSTS, word, i)
    end
    return table.concat(texts)
end

local LISTENER = "{name: l%d, port: %d, protocol: HTTP}"
local one_listener = gateway_yaml.gateway("[" .. LISTENER:format(80, 80) .. "]")

local world = watched.start(one_listener .. routes("first"), "size = 256 * 1024 * 1024")
local failed = false

local function wait_for(path, host)
    eventually(function()
        return world:ask(host, path) == 200
    end, function()
        return "answers: " .. world.one:said()
    end, 120)
end

local function measure(name, change)
    local begun = os.time()
    local gateway, static, longest = watched.measure(world, change)
    local seconds = os.time() - begun
    failed = failed or longest.turn > MOST_MS
    print(("| %s | %.2f ms | %.2f ms | %d s | %.2f | %d | %d |"):format(name, longest.turn,
        longest.round or 0, seconds, gateway.p99_us / static.p99_us, gateway.failed,
        static.failed))
end

print("| under load | longest turn of a worker, CPU | longest round of the owner | took | p99 of "
    .. "the gateway over static | failed | of static |\n|---|---|---|---|---|---|---|")
wait_for("/first/" .. HOSTS - 1, ("host-%d.example.com"):format(HOSTS - 1))
measure("nothing changes", function()
    copies.shell("sleep 5")
end)
measure("a dump of all of it, three times", function()
    for _ = 1, 3 do
        assert(copies.shell(("curl -s http://127.0.0.1:%d/kubelua | tail -c 3")
            :format(world.admin_port)) == "]}")
    end
end)
measure(("%d routes are replaced"):format(ROUTES), function()
    assert(world.sim:load(routes("second")))
    wait_for("/second/" .. ROUTES, ("host-%d.example.com"):format(ROUTES % HOSTS))
end)
measure("a listener comes", function()
    assert(world.sim:load(gateway_yaml.gateway("[" .. LISTENER:format(80, 80) .. ", "
        .. LISTENER:format(81, 8080) .. "]")))
    eventually(function()
        local body = copies.shell("curl -s http://127.0.0.1:" .. world.admin_port .. "/metrics")
        return body:find("kubelua_owner_pid", 1, true)
    end, "metrics", 10)
    copies.shell("sleep 3")
end)
measure("kill -9 of the owner", function()
    world.one:signal("KILL", world:owner())
    assert(world.sim:load((watched.OWN:gsub("name: own", "name: late"):gsub("parentRefs",
        "hostnames: [late.example.com]\n  parentRefs"))))
    wait_for("/", "late.example.com")
end)
world:close()
os.exit(failed and 1 or 0)
