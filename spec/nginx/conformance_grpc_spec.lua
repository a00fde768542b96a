-- What the conformance suite of the Gateway API asks of GRPCRoutes (profile GATEWAY-GRPC), with
-- objects of our own: for machines without Go. Clients speak HTTP/2 with TLS, which any nginx can.
local copies = require "nginx_copies"
local eventually = require "eventually"
local gateway_world = require "gateway_world"
local slices = require "slices"

local GATEWAY = [[
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: kubelua}
spec: {controllerName: kubelua.dev/gateway}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: main, namespace: infra}
spec:
  gatewayClassName: kubelua
  listeners:
  - {name: all, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: good}]}}
  - {name: exact, port: 443, protocol: HTTPS, hostname: bar.com,
     tls: {certificateRefs: [{name: good}]}}
  - {name: wild, port: 443, protocol: HTTPS, hostname: "*.bar.com",
     tls: {certificateRefs: [{name: good}]}}
]]

local ROUTE = [[
apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {name: %s, namespace: infra}
spec:
  parentRefs: [{name: main%s}]
  hostnames: [%s]
  rules:
%s]]

local function rule(matches, service)
    return ("  - matches: [%s]\n    backendRefs: [{name: %s, port: 80}]\n"):format(matches, service)
end

local function header(name, value)
    return ("{headers: [{name: %s, value: %s}]}"):format(name, value)
end

local function to(service)
    return ("  - backendRefs: [{name: %s, port: 80}]\n"):format(service)
end

local OBJECTS = table.concat({ GATEWAY,
    ROUTE:format("exact", "", "exact.com", rule("{method: {service: a.Echo, method: Echo}}", "one")
        .. rule("{method: {service: a.Echo, method: Two}}", "two")
        .. rule("{method: {service: b.Echo}}", "three")),
    ROUTE:format("headers", "", "headers.com", rule(header("version", "one"), "one")
        .. rule(header("version", "two"), "two") .. rule("{headers: [{name: version, value: two}, "
        .. "{name: color, value: orange}]}", "one") .. rule(header("color", "blue") .. ", "
        .. header("color", "green"), "three")),
    ROUTE:format("weight", "", "weight.com", "  - backendRefs: [{name: one, port: 80, weight: 7}, "
        .. "{name: two, port: 80, weight: 3}, {name: three, port: 80, weight: 0}]\n"),
    ROUTE:format("bar", ", sectionName: exact", "bar.com", to("one")),
    ROUTE:format("foo-bar", ", sectionName: wild", "'*.bar.com'", to("two")),
    ROUTE:format("named", "", "named.com", "  - name: first\n    backendRefs: [{name: three, "
        .. "port: 80}]\n"),
}, "---\n")

local COLOR_BLUE, COLOR_ORANGE = "-H 'color: blue'", "-H 'version: two' -H 'color: orange'"

local ASKED = {
    { "GRPCExactMethodMatching", { "exact.com/a.Echo/Echo", "infra/one" },
        { "exact.com/a.Echo/Two", "infra/two" }, { "exact.com/b.Echo/Any", "infra/three" },
        { "exact.com/a.Echo/Three", "404" }, { "exact.com/a.Echo/echo", "404" } },
    { "GRPCRouteHeaderMatching", { "headers.com/a.Echo/Echo", "infra/one", "-H 'version: one'" },
        { "headers.com/a.Echo/Echo", "infra/two", "-H 'version: two'" },
        { "headers.com/a.Echo/Echo", "infra/one", COLOR_ORANGE },
        { "headers.com/a.Echo/Echo", "infra/three", COLOR_BLUE },
        { "headers.com/a.Echo/Echo", "404", "-H 'color: red'" } },
    { "GRPCRouteListenerHostnameMatching", { "bar.com/a.Echo/Echo", "infra/one" },
        { "foo.bar.com/a.Echo/Echo", "infra/two" }, { "a.foo.bar.com/a.Echo/Echo", "infra/two" },
        { "no.match.com/a.Echo/Echo", "404" } },
    { "GRPCRouteNamedRule", { "named.com/a.Echo/Echo", "infra/three" } },
}

describe("what the conformance suite asks by gRPC", function()
    local world

    local function load_secret()
        local folder = copies.shell("mktemp -d")
        copies.certificate(folder, "a")
        world:secret("infra", "good", folder)
        copies.shell("rm -r " .. folder)
    end

    setup(function()
        world = gateway_world.start { load = OBJECTS, http2 = true,
            services = { "infra/one", "infra/two", "infra/three" } }
        for i, name in ipairs { "one", "two", "three" } do
            assert(world.sim:load(slices.slice("infra", name, name .. "-1", { "127.0.0." .. i },
                world.backends.h2_port)))
        end
        load_secret()
    end)

    teardown(function()
        world:close()
    end)

    -- One call: the body, or the status if it is not 200; and the version of HTTP.
    local function call(place, words)
        local host, path = place:match("^([^/]*)(/.*)$")
        local said = copies.shell(("curl -sk -m 10 --http2 --resolve %s:%d:127.0.0.1 %s -H "
            .. "'Content-Type: application/grpc' -H 'TE: trailers' -d x -w "
            .. "'\\n%%{http_code} %%{http_version}' 'https://%s:%d%s'"):format(host,
            world.tls_port, words or "", host, world.tls_port, path))
        local body, status, version = said:match("^(.*)\n(%d+) ([%d.]+)$")
        return status == "200" and body or status, version
    end

    local function expect(place, want, words)
        local got, version
        eventually(function()
            got, version = call(place, words)
            return got and got:sub(1, #want) == want
        end, function()
            return ("%s: %s, not %s\n%s"):format(place, tostring(got), want, world.one:said())
        end, 10)
        assert.equal("2", version)
        return got
    end

    for _, case in ipairs(ASKED) do
        it(case[1], function()
            for i = 2, #case do
                local asked = case[i]
                expect(asked[1], asked[2], asked[3])
            end
        end)
    end

    it("speaks HTTP/2 to the backend, and hands on the path", function()
        local got = expect("exact.com/a.Echo/Echo", "infra/one POST /a.Echo/Echo ")
        assert.truthy(got:find("HTTP/2.0", 1, true), got)
    end)

    it("GRPCRouteWeight", function()
        expect("weight.com/a.Echo/Echo", "infra/")
        local counts = {}
        for _ = 1, 50 do
            local name = call("weight.com/a.Echo/Echo"):match("^%S+")
            counts[name] = (counts[name] or 0) + 1
        end
        assert.is_nil(counts["infra/three"])
        assert.is_true(math.abs(counts["infra/one"] - 35) <= 4, counts["infra/one"])
    end)
end)
