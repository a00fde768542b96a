-- What one tenant's rubbish costs the others: 2,000 objects (routes that make no sense, a route of
-- 10,000 rules, regular expressions that explode, Secrets of 1 MB), which change all the time, and
-- requests for them. Prints the latency of another tenant's requests before, during and after, over
-- that of nginx's own proxy_pass on the same connections. Usage: bench/gateway/run.
package.path = "lua/?.lua;lua/?/init.lua;sim/lua/?.lua;spec/support/?.lua;bench/gateway/?.lua;"
    .. package.path
package.cpath = (os.getenv("KUBELUA_BUILD") or "build") .. "/lua/5.1/?.so;" .. package.cpath

local copies = require "nginx_copies"
local gateway_yaml = require "gateway_yaml"
local kubelua = require "kubelua"
local watched = require "watched"

local SECONDS = tonumber(arg[1]) or 10

local world = watched.start(gateway_yaml.FOR_ALL, "nginx = true")

local function apply(object)
    object.metadata.namespace = object.metadata.namespace or "bad"
    assert(world.sim:apply(object))
end

local RUBBISH = { 0, -1, "", ("x"):rep(5000), true, {}, { {} }, { a = 1 } }

local function route(name, rules)
    apply { apiVersion = "gateway.networking.k8s.io/v1", kind = "HTTPRoute",
        metadata = { name = name }, spec = { parentRefs = { { name = "main", namespace = "web" } },
        hostnames = { name .. ".bad.example.com" }, rules = rules } }
end

local function rubbish_route(i)
    local value = RUBBISH[i % #RUBBISH + 1]
    route("r" .. i, { { matches = { { path = { type = "PathPrefix", value = "/" .. i } } },
        filters = i % 3 == 0 and { { type = "URLRewrite", urlRewrite = value } } or nil,
        backendRefs = i % 3 == 1 and value or { { name = "gone-" .. i, port = 80 } } } })
end

local function ingress(i)
    local paths = {}
    for n = 1, 40 do
        paths[n] = { path = "/" .. ("(?!.*.*b)"):rep(10) .. n, pathType = "Prefix",
            backend = { service = { name = "none", port = { number = 80 } } } }
    end
    apply { apiVersion = "networking.k8s.io/v1", kind = "Ingress",
        metadata = { name = "i" .. i, annotations = {
            ["nginx.ingress.kubernetes.io/use-regex"] = "true",
            ["nginx.ingress.kubernetes.io/limit-rps"] = ("9"):rep(i) } },
        spec = { ingressClassName = "nginx", tls = { { secretName = "s" .. i } },
            rules = { { host = "slow" .. i .. ".example.com", http = { paths = paths } } } } }
end

local function secret(i)
    apply { apiVersion = "v1", kind = "Secret", type = "kubernetes.io/tls",
        metadata = { name = "s" .. i }, data = { ["tls.crt"] = ("QUJD"):rep(250000 + i),
            ["tls.key"] = "QUJD" } }
end

local function all_rubbish()
    local rules = {}
    for i = 1, 10000 do
        rules[i] = { matches = { { path = { type = "PathPrefix", value = "/" .. i } } } }
    end
    route("flood", rules)
    for i = 1, 20 do
        secret(i)
        ingress(i)
    end
    for i = 1, 1959 do
        rubbish_route(i)
    end
end

local function measure(name, work)
    local gateway, static, longest = watched.measure(world, function()
        local till, count = kubelua.now() + SECONDS, 0
        while kubelua.now() < till do
            count = count + 1
            work(count)
            kubelua.step(0.02)
        end
    end)
    print(("| %s | %.3f | %.2f | %.2f ms | %d | %d |"):format(name, gateway.p50_us / static.p50_us,
        gateway.p99_us / static.p99_us, longest.turn, gateway.failed, static.failed))
end

local function nothing() end

print("| | p50 of another tenant over static | p99 | longest turn of a worker, CPU | failed | of "
    .. "static |\n|---|---|---|---|---|---|")
world:expect("web/two", "any.example.com", "/gateway")
measure("before", nothing)
measure("2,000 objects of rubbish come", function(count)
    if count == 1 then
        all_rubbish()
    end
end)
measure("they are there", nothing)
measure("50 of them change each second", rubbish_route)
measure("20 requests a second for patterns that explode", function()
    copies.shell(("curl -s -o /dev/null -m 5 -H 'Host: slow1.example.com' http://127.0.0.1:%d/%s &")
        :format(world.one.port, ("a"):rep(7000)))
    kubelua.step(0.03)
end)
world:close()
