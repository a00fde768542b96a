-- The gateway in a real nginx: requests by HTTPRoutes and Ingresses of a simulated cluster.
local eventually = require "eventually"
local gateway_yaml = require "gateway_yaml"
local gateway_world = require "gateway_world"
local kubelua = require "kubelua"
local slices = require "slices"

local BASE = gateway_yaml.GATEWAY .. [[
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop, namespace: web}
spec:
  parentRefs: [{name: main}]
  hostnames: [shop.example.com]
  rules:
  - matches: [{path: {type: PathPrefix, value: /two}}]
    backendRefs: [{name: two, port: 80}]
  - matches: [{path: {type: Exact, value: /exact}}]
    backendRefs: [{name: two, port: 80}]
  - matches: [{headers: [{name: X-Test, value: "yes"}]}]
    backendRefs: [{name: two, port: 80}]
  - matches: [{method: DELETE}]
    backendRefs: [{name: two, port: 80}]
  - matches: [{queryParams: [{name: a, value: "1"}]}]
    backendRefs: [{name: two, port: 80}]
  - backendRefs: [{name: one, port: 80}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: filters, namespace: web}
spec:
  parentRefs: [{name: main}]
  hostnames: [filters.example.com]
  rules:
  - matches: [{path: {type: PathPrefix, value: /redirect}}]
    filters: [{type: RequestRedirect, requestRedirect: {
      hostname: other.example.com, statusCode: 301,
      path: {type: ReplacePrefixMatch, replacePrefixMatch: /new}}}]
  - matches: [{path: {type: PathPrefix, value: /patient}}]
    timeouts: {request: 0s, backendRequest: 0s}
    backendRefs: [{name: one, port: 80}]
  - matches: [{path: {type: PathPrefix, value: /rewrite}}]
    filters: [{type: URLRewrite, urlRewrite: {hostname: inner.example.com,
      path: {type: ReplacePrefixMatch, replacePrefixMatch: /new}}}]
    backendRefs: [{name: one, port: 80}]
  - matches: [{path: {type: PathPrefix, value: /headers}}]
    filters:
    - {type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-Test, value: set}]}}
    - type: ResponseHeaderModifier
      responseHeaderModifier: {add: [{name: X-New, value: new}], remove: [X-Old]}
    backendRefs: [{name: one, port: 80}]
  - matches: [{path: {type: PathPrefix, value: /weights}}]
    backendRefs: [{name: one, port: 80, weight: 3}, {name: two, port: 80, weight: 1}]
  - matches: [{path: {type: PathPrefix, value: /mirror}}]
    filters: [{type: RequestMirror, requestMirror: {backendRef: {name: two, port: 80}}}]
    backendRefs: [{name: one, port: 80}]
  - matches: [{path: {type: PathPrefix, value: /cors}}]
    filters: [{type: CORS, cors: {allowOrigins: ["https://a.example.com"], allowMethods: [GET]}}]
    backendRefs: [{name: one, port: 80}]
  - matches: [{path: {type: PathPrefix, value: /empty}}]
    backendRefs: [{name: empty, port: 80}]
  - matches: [{path: {type: PathPrefix, value: /missing}}]
    backendRefs: [{name: none, port: 80}]
  - matches: [{path: {type: PathPrefix, value: /other}}]
    backendRefs: [{name: three, namespace: db, port: 80}]
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: kubelua}
spec: {controller: kubelua.dev/gateway}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: old
  namespace: web
  annotations: {nginx.ingress.kubernetes.io/rewrite-target: /$1}
spec:
  ingressClassName: kubelua
  rules:
  - host: old.example.com
    http:
      paths:
      - path: /api/(.*)
        pathType: ImplementationSpecific
        backend: {service: {name: two, port: {number: 80}}}
]]

local ANSWERS = [[
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: answers
  namespace: web
  annotations:
    nginx.ingress.kubernetes.io/proxy-redirect-from: http://shop:8080/
    nginx.ingress.kubernetes.io/proxy-redirect-to: https://example.com/
    nginx.ingress.kubernetes.io/proxy-cookie-path: /two/ /
    nginx.ingress.kubernetes.io/proxy-cookie-domain: shop.internal example.com
spec:
  ingressClassName: kubelua
  rules:
  - host: answers.example.com
    http: {paths: [
      {path: /, pathType: Prefix, backend: {service: {name: two, port: {number: 80}}}}]}
]]

local PROTOCOLS = [[
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: protocols, namespace: web}
spec:
  parentRefs: [{name: main}]
  hostnames: [protocols.example.com]
  rules:
  - matches: [{path: {type: PathPrefix, value: /h2}}]
    backendRefs: [{name: h2, port: 80}]
  - matches: [{path: {type: PathPrefix, value: /new}}]
    filters: [{type: URLRewrite, urlRewrite: {
      path: {type: ReplacePrefixMatch, replacePrefixMatch: /h2}}}]
    backendRefs: [{name: h2, port: 80}]
  - matches: [{path: {type: PathPrefix, value: /plain}}]
    backendRefs: [{name: one, port: 80}]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: secure
  namespace: web
  annotations: {nginx.ingress.kubernetes.io/backend-protocol: HTTPS}
spec:
  ingressClassName: kubelua
  rules:
  - host: secure.example.com
    http:
      paths:
      - path: /
        pathType: Prefix
        backend: {service: {name: secure, port: {number: 80}}}
]]

describe("the gateway in nginx", function()
    local world

    setup(function()
        world = gateway_world.start { load = BASE }
    end)

    teardown(function()
        world:close()
    end)

    it("routes by host, path, method, header and query", function()
        local host = "shop.example.com"
        world:expect("web/one GET / ", host, "/")
        world:expect("web/two GET /two/a?b=c ", host, "/two/a?b=c")
        world:expect("web/one GET /twofold ", host, "/twofold")
        world:expect("web/two GET /exact ", host, "/exact")
        world:expect("web/one GET /exact/a ", host, "/exact/a")
        world:expect("web/two GET / ", host, "/", "-H 'X-Test: yes'")
        world:expect("web/two DELETE / ", host, "/", "-X DELETE")
        world:expect("web/two GET /?a=1 ", host, "/?a=1")
        world:expect("web/one GET /?a=2 ", host, "/?a=2")
    end)

    it("answers 404 where no route fits, and 400 to a host that is none", function()
        world:expect(404, "unknown.example.com", "/")
        world:expect(404, "filters.example.com", "/none")
    end)

    it("takes a timeout of 0 for none", function()
        world:expect("web/one GET /patient ", "filters.example.com", "/patient")
    end)

    it("redirects, rewrites, and changes headers", function()
        local host = "filters.example.com"
        local _, head = world:expect(301, host, "/redirect/a?b=c")
        assert.truthy(head:find("Location: http://other.example.com/new/a?b=c", 1, true), head)
        local body = world:expect("web/one GET /new/a%20b?c=d ", host, "/rewrite/a%20b?c=d")
        assert.truthy(body:find("host=inner.example.com", 1, true), body)
        body, head = world:expect("web/one GET /headers ", host, "/headers")
        assert.truthy(body:find("x=set", 1, true), body)
        assert.truthy(head:find("X-New: new", 1, true), head)
        assert.falsy(head:find("X-Old", 1, true), head)
    end)

    it("divides requests by weight", function()
        local counts = {}
        for _ = 1, 40 do
            local _, body = world:ask("filters.example.com", "/weights")
            local name = body:match("^%S+")
            counts[name] = (counts[name] or 0) + 1
        end
        assert.truthy(counts["web/one"] >= 26 and counts["web/one"] <= 34,
            tostring(counts["web/one"]))
        assert.equal(40, counts["web/one"] + counts["web/two"])
    end)

    it("answers 500 for a Service that is not there, or of another namespace", function()
        world:expect(500, "filters.example.com", "/missing")
        world:expect(500, "filters.example.com", "/other")
        assert(world.sim:load [[
apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {name: web, namespace: db}
spec:
  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: web}]
  to: [{group: "", kind: Service}]
]])
        world:expect("db/three GET /other ", "filters.example.com", "/other")
        assert(world.sim:delete("referencegrants", "db/web"))
        world:expect(500, "filters.example.com", "/other")
    end)

    it("answers 503 for a Service without endpoints, and says so in the log", function()
        assert(world.sim:load(slices.service("web", "empty")))
        world:expect(503, "filters.example.com", "/empty")
        assert.truthy(world.one:count("HTTPRoute web/filters") > 0, world.one:said())
    end)

    it("sends a copy of a request to a mirror", function()
        world:expect("web/one POST /mirror?a=b ", "filters.example.com", "/mirror?a=b",
            "-d 'some body'")
        eventually(function()
            return world:asked("web/two POST /mirror?a=b")
        end, function() return "web/two gets the copy\n" .. world.one:said() end, 10)
    end)

    it("answers a preflight, and adds the headers of CORS", function()
        local host, origin = "filters.example.com", "-H 'Origin: https://a.example.com' "
        local _, head = world:expect(204, host, "/cors", origin
            .. "-X OPTIONS -H 'Access-Control-Request-Method: GET'")
        assert.truthy(head:find("Allow-Origin: https://a.example.com", 1, true), head)
        _, head = world:expect("web/one GET /cors ", host, "/cors", origin)
        assert.truthy(head:find("Allow-Origin: https://a.example.com", 1, true), head)
        _, head = world:expect("web/one GET /cors ", host, "/cors", "-H 'Origin: https://b.com'")
        assert.falsy(head:find("Access-Control-Allow-Origin", 1, true), head)
    end)

    it("serves Ingresses with annotations of ingress-nginx", function()
        world:expect("web/two GET /a/b?c=d ", "old.example.com", "/api/a/b?c=d")
        world:expect(404, "old.example.com", "/none")
    end)

    it("speaks HTTP/2 and TLS to backends that ask for it, and hands on WebSockets", function()
        local function serve(name, port, protocol)
            assert(world.sim:load(slices.service("web", name)))
            assert(world.sim:load(slices.slice("web", name, name .. "-1", { "127.0.0.2" }, port)))
            assert(world.sim:patch("services", "web/" .. name, { spec = { ports = { {
                name = "http", port = 80, protocol = "TCP", appProtocol = protocol } } } }))
        end
        serve("h2", world.backends.h2_port, "kubernetes.io/h2c")
        serve("secure", world.backends.tls_port)
        assert(world.sim:load(PROTOCOLS))
        local body = world:expect("web/two POST /h2/a?b=c ", "protocols.example.com", "/h2/a?b=c",
            "-d body")
        assert.truthy(body:find("HTTP/2.0 http", 1, true), body)
        world:expect("web/two GET /h2/a%20b?c=d ", "protocols.example.com", "/new/a%20b?c=d")
        body = world:expect("web/two GET /secure?a=b ", "secure.example.com", "/secure?a=b")
        assert.truthy(body:find("https sni=secure.example.com", 1, true), body)
        body = world:expect("web/one GET /plain ", "protocols.example.com", "/plain",
            "-H 'Connection: Upgrade' -H 'Upgrade: websocket'")
        assert.truthy(body:find("upgrade=websocket,upgrade", 1, true), body)
    end)

    it("changes redirects and cookies of an Ingress's backend", function()
        assert(world.sim:load(ANSWERS))
        world:expect("web/two GET /", "answers.example.com", "/")
        local status, _, head = world:ask("answers.example.com", "/moved")
        assert.equal(302, status)
        assert.match("Location: https://example.com/new\r", head, 1, true)
        assert.match("Set%-Cookie: a=1; Path=/x; Domain=example.com", head)
    end)

    it("writes the conditions of objects", function()
        local route = assert(world.sim:get("httproutes", "web/shop"))
        local parent = assert(route.status).parents[1]
        assert.equal("kubelua.dev/gateway", parent.controllerName)
        local reasons = {}
        for _, condition in kubelua.ipairs(parent.conditions) do
            reasons[condition.type] = condition.status .. " " .. condition.reason
        end
        assert.equal("True Accepted", reasons.Accepted)
        assert.equal("True ResolvedRefs", reasons.ResolvedRefs)
    end)
end)
