-- The gateway in a real nginx against clients and tenants who mean harm.
local copies = require "nginx_copies"
local eventually = require "eventually"
local gateway_yaml = require "gateway_yaml"
local gateway_world = require "gateway_world"
local slices = require "slices"

local OBJECTS = gateway_yaml.GATEWAY .. [[
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop, namespace: web}
spec:
  parentRefs: [{name: main}]
  hostnames: [shop.example.com]
  rules:
  - matches: [{path: {type: PathPrefix, value: /query}, queryParams: [{name: a, value: "1"}]}]
    backendRefs: [{name: two, port: 80}]
  - matches: [{path: {type: PathPrefix, value: /h2}}]
    backendRefs: [{name: h2, port: 80}]
  - matches: [{path: {type: PathPrefix, value: /mirror}}]
    filters: [{type: RequestMirror, requestMirror: {backendRef: {name: secure, port: 80}}}]
    backendRefs: [{name: one, port: 80}]
  - backendRefs: [{name: one, port: 80}]
]]

local HOST = "shop.example.com"

describe("the gateway and those who mean harm", function()
    local world

    local function serve(name, port, protocol)
        assert(world.sim:load(slices.service("web", name)))
        assert(world.sim:load(slices.slice("web", name, name .. "-1", { "127.0.0.2" }, port)))
        assert(world.sim:patch("services", "web/" .. name, { spec = { ports = { {
            name = "http", port = 80, protocol = "TCP", appProtocol = protocol } } } }))
    end

    local function await_event(reason, name)
        eventually(function()
            for _, event in ipairs(world.sim:list("events.events.k8s.io", { namespace = "*" })) do
                if event.reason == reason and event.regarding.name == name then
                    return true
                end
            end
        end, "the Event " .. reason, 10)
    end

    setup(function()
        world = gateway_world.start { load = OBJECTS, options = "nginx = true" }
        serve("h2", world.backends.h2_port, "kubernetes.io/h2c")
        serve("secure", world.backends.backend_port, "https")
        world:expect("web/one GET / ", HOST, "/")
    end)

    teardown(function()
        world:close()
    end)

    it("makes no tunnel of HTTP/2 to a backend, which would pass by all rules", function()
        local body = world:expect("web/one GET / ", HOST, "/", "-H 'Connection: Upgrade, "
            .. "HTTP2-Settings' -H 'Upgrade: h2c' -H 'HTTP2-Settings: AAMAAABk'")
        assert.truthy(body:find("upgrade=,", 1, true), body)
    end)

    it("sends the host that it has found the route by", function()
        local said = copies.shell(("curl -s -H 'Host: other.example.com' --request-target "
            .. "http://shop.example.com/ http://127.0.0.1:%d/"):format(world.one.port))
        assert.truthy(said:find("host=shop.example.com ", 1, true), said)
        local body = world:expect("web/one GET / ", "Shop.example.com:8080", "/")
        assert.truthy(body:find("host=Shop.example.com:8080 ", 1, true), body)
    end)

    it("tells backends of HTTP/2, too, who the client is", function()
        local body = world:expect("web/two GET /h2 ", HOST, "/h2",
            "-H 'X-Real-IP: 10.0.0.1' -H 'X-Forwarded-For: 10.0.0.1'")
        assert.truthy(body:find("ip=127.0.0.1 for=127.0.0.1", 1, true), body)
    end)

    it("looks at all arguments of a request", function()
        world:expect("web/two GET /query", HOST, "/query?" .. ("b&"):rep(1500) .. "a=1")
    end)

    it("leaves a path out that is no regular expression, and serves the others", function()
        local function path(text)
            return { path = text, pathType = "Prefix",
                backend = { service = { name = "two", port = { number = 80 } } } }
        end
        assert(world.sim:apply { apiVersion = "networking.k8s.io/v1", kind = "Ingress",
            metadata = { name = "broken", namespace = "web",
                annotations = { ["nginx.ingress.kubernetes.io/use-regex"] = "true" } },
            spec = { ingressClassName = "nginx", rules = { { host = "broken.example.com",
                http = { paths = { path("/aaaa{2,1}"), path("/b") } } } } } })
        world:expect("web/two GET /b ", "broken.example.com", "/b")
    end)

    it("refuses patterns with which PCRE 8 crashes, and serves the others", function()
        local function path(text)
            return { path = text, pathType = "Prefix",
                backend = { service = { name = "two", port = { number = 80 } } } }
        end
        assert(world.sim:apply { apiVersion = "networking.k8s.io/v1", kind = "Ingress",
            metadata = { name = "deep", namespace = "web",
                annotations = { ["nginx.ingress.kubernetes.io/use-regex"] = "true" } },
            spec = { ingressClassName = "nginx", rules = { { host = "deep.example.com",
                http = { paths = { path("/(?:(?:(?:(?:(a)|(?(?C)(?=z)z|y))*|c)*|d)*|e)*z"),
                    path("/" .. ("()"):rep(300) .. "z"), path("/a") } } } } } })
        world:expect("web/two GET /a ", "deep.example.com", "/a")
        world:expect("web/two GET /aaa", "deep.example.com", "/" .. ("a"):rep(8000))
        assert.equal(0, world.one:count("exited on signal"))
    end)

    it("takes a line break in a path for a part of it", function()
        assert(world.sim:load [[
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: whole, namespace: web}
spec:
  parentRefs: [{name: main}]
  hostnames: [whole.example.com]
  rules:
  - matches: [{path: {type: RegularExpression, value: "/admin/.*"}}]
    backendRefs: [{name: two, port: 80}]
  - matches: [{path: {type: RegularExpression, value: /end}}]
    backendRefs: [{name: two, port: 80}]
  - backendRefs: [{name: one, port: 80}]
]])
        world:expect("web/two GET /admin/x ", "whole.example.com", "/admin/x")
        world:expect("web/two GET /admin/x%0Ay", "whole.example.com", "/admin/x%0Ay")
        world:expect("web/one GET /end%0A", "whole.example.com", "/end%0A")
    end)

    it("gives up a request whose patterns would keep the worker busy", function()
        local paths = {}
        for i = 1, 40 do
            paths[i] = { path = "/" .. ("(?!.*.*b)"):rep(10) .. i, pathType = "Prefix",
                backend = { service = { name = "two", port = { number = 80 } } } }
        end
        assert(world.sim:apply { apiVersion = "networking.k8s.io/v1", kind = "Ingress",
            metadata = { name = "slow", namespace = "web",
                annotations = { ["nginx.ingress.kubernetes.io/use-regex"] = "true" } },
            spec = { ingressClassName = "nginx",
                rules = { { host = "slow.example.com", http = { paths = paths } } } } })
        world:expect("web/two GET /1 ", "slow.example.com", "/1")
        local took = copies.shell(("curl -s -o /dev/null -w '%%{time_total} %%{http_code}' "
            .. "-H 'Host: slow.example.com' http://127.0.0.1:%d/%s"):format(world.one.port,
            ("a"):rep(7000) .. "1234567890")) -- PCRE2 looks first if the last character is there
        local status = tonumber(took:match("%d+$"))
        assert.equal(500, status)
    end)

    it("counts each try of a group, and tells the object whose pattern was given up", function()
        local function path(text, service)
            return { path = text, pathType = "Prefix",
                backend = { service = { name = service, port = { number = 80 } } } }
        end
        assert(world.sim:apply { apiVersion = "networking.k8s.io/v1", kind = "Ingress",
            metadata = { name = "tries", namespace = "web",
                annotations = { ["nginx.ingress.kubernetes.io/use-regex"] = "true" } },
            spec = { ingressClassName = "nginx", rules = { { host = "tries.example.com",
                http = { paths = { path("/(?:(?=.*b)|(?=.*c)|a)*[de]", "two"),
                    path("/", "one") } } } } } })
        world:expect("web/two GET /ad ", "tries.example.com", "/ad")
        world:expect("web/one GET /aaa ", "tries.example.com", "/aaa")
        for _ = 1, 20 do -- the owner, which writes Events, has some of them
            assert.equal(500, (world:ask("tries.example.com", "/" .. ("a"):rep(1000))))
        end
        world:expect("web/one GET /aaa ", "tries.example.com", "/aaa")
        await_event("PatternTooSlow", "tries")
    end)

    it("tells a Service whose balancer's annotation is wrong", function()
        assert(world.sim:patch("services", "web/two", { metadata = { annotations = {
            ["kubelua.dev/balance"] = "fastest" } } }))
        await_event("Annotation", "two")
    end)

    it("goes nowhere else because an answer says so (X-Accel-Redirect)", function()
        world:expect("accel", HOST, "/accel")
    end)

    it("sends no copy in the clear to a mirror that wants TLS", function()
        world:expect("web/one POST /mirror ", HOST, "/mirror", "-d body")
        world:expect("web/one GET /after ", HOST, "/after")
        assert.falsy(world:asked("web/two POST /mirror"))
    end)
end)
