-- An error page of nginx.conf leads a request to another location, where nothing of the gateway is
-- known: what the request held ends all the same.
local copies = require "nginx_copies"
local eventually = require "eventually"
local gateway_world = require "gateway_world"
local gateway_yaml = require "gateway_yaml"
local slices = require "slices"

local OBJECTS = [[
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: dead
  namespace: web
  annotations:
    nginx.ingress.kubernetes.io/limit-connections: "2"
    nginx.ingress.kubernetes.io/load-balance: ewma
    nginx.ingress.kubernetes.io/proxy-next-upstream: "off"
spec:
  ingressClassName: nginx
  rules:
  - host: dead.example.com
    http:
      paths: [{path: /, pathType: Prefix, backend: {service: {name: dead, port: {number: 80}}}}]
  - host: rewritten.example.com
    http:
      paths: [{path: /, pathType: Prefix, backend: {service: {name: dead, port: {number: 80}}}}]
---
]] .. gateway_yaml.GATEWAY .. [[
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: marked, namespace: web}
spec:
  parentRefs: [{name: main}]
  hostnames: [marked.example.com]
  rules:
  - matches: [{path: {value: /dead}}]
    filters: &mark
    - type: ResponseHeaderModifier
      responseHeaderModifier: {set: [{name: X-Route, value: marked}]}
    backendRefs: [{name: dead, port: 80}]
  - matches: [{path: {value: /}}]
    filters: *mark
    backendRefs: [{name: one, port: 80}]
]]

-- What is in flight at each endpoint of web/dead.
local LOAD = [[ server { listen 127.0.0.1:%d; location = / { content_by_lua_block {
    local balance = require "resty.kubelua.gateway.balance"
    for _, endpoint in ipairs(balance.status(gateway.kube.service("web/dead:80"))) do
        ngx.say(endpoint.in_flight)
    end
} } } ]]

describe("an error page", function()
    local world, port

    local function start(server)
        port = copies.free_ports(1)[1]
        world = gateway_world.start { load = OBJECTS, workers = 1, options = "nginx = true",
            http = LOAD:format(port), server = server }
        assert(world.sim:load(slices.service("web", "dead")))
        -- nothing listens on port 1
        assert(world.sim:load(slices.slice("web", "dead", "dead-1", { "127.0.0.1", "127.0.0.2" },
            1)))
    end

    after_each(function()
        world:close()
    end)

    local function expect_nothing_in_flight()
        local said
        eventually(function()
            said = copies.shell("curl -s http://127.0.0.1:" .. port)
            return said == "0\n0"
        end, function() return "nothing is in flight: " .. said end, 10)
    end

    it("ends the pick, and the count of the client's requests", function()
        start "error_page 502 =200 /sorry; location = /sorry { return 200 \"sorry\"; } "
        world:expect("sorry", "dead.example.com", "/")
        for _ = 1, 6 do -- more than limit-connections allows at one time
            local status, body = world:ask("dead.example.com", "/")
            assert.same({ 200, "sorry" }, { status, body })
        end
        expect_nothing_in_flight()
    end)

    it("has none of the headers that the route gives", function()
        start "error_page 502 =200 /sorry; location = /sorry { return 200 \"sorry\"; } "
        local function header_of(path)
            return copies.shell(("curl -s -m 5 -D - -o /dev/null -H 'Host: marked.example.com' "
                .. "http://127.0.0.1:%d%s"):format(world.one.port, path)):match("X%-Route: (%w+)")
        end
        world:expect("sorry", "marked.example.com", "/dead")
        assert.equal("marked", header_of("/"))
        assert.is_nil(header_of("/dead"))
    end)

    it("ends them also where it leads to the gateway again", function()
        start "error_page 502 /one; "
        world:expect(502, "dead.example.com", "/")
        for _ = 1, 6 do
            assert.equal(502, (world:ask("dead.example.com", "/")))
        end
        expect_nothing_in_flight()
    end)
end)
