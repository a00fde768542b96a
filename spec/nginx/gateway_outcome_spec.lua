-- What becomes of a request at its endpoints: which failures are tried again, and what the
-- balancers of the gateway learn of an answer.
local copies = require "nginx_copies"
local gateway_world = require "gateway_world"
local slices = require "slices"

local INGRESS = [[
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: kubelua}
spec: {controller: kubelua.dev/gateway}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: one, namespace: web}
spec:
  ingressClassName: kubelua
  rules:
  - host: one.example.com
    http: {paths: [
      {path: /, pathType: Prefix, backend: {service: {name: one, port: {number: 80}}}}]}
]]

describe("the gateway, of a request that an endpoint does not answer,", function()
    local world

    before_each(function()
        world = gateway_world.start { load = INGRESS, workers = 1 }
        assert(world.sim:load(slices.slice("web", "one", "one-1", { "127.0.0.1", "127.0.0.2" },
            world.backends.backend_port)))
    end)

    after_each(function()
        world:close()
    end)

    -- Each endpoint answers, and its connection is kept.
    local function keep_connections()
        world:expect("web/two", "one.example.com", "/")
        world:expect("web/one", "one.example.com", "/")
    end

    -- How often backends get a request that they do not answer.
    local function count_tries(method)
        keep_connections()
        local status = world:ask("one.example.com", "/drop", "-X " .. method)
        return world:count(method .. " /drop"), status
    end

    for _, method in ipairs { "MOVE", "POST", "PATCH", "LINK" } do
        it("sends " .. method .. " once, also on a connection that was kept", function()
            assert.same({ 1, 502 }, { count_tries(method) })
        end)
    end

    for _, method in ipairs { "GET", "PUT", "DELETE" } do
        it("sends " .. method .. " to another endpoint", function()
            local count, status = count_tries(method)
            assert.equal(502, status)
            assert.is_true(count > 1, count)
        end)
    end

    -- What the balancers know of the two endpoints.
    local function loads()
        local found = world:loads("web/one:80")
        return assert(found["10.127.0.1"]), assert(found["10.127.0.2"])
    end

    it("counts no failure for kept connections that endpoints have closed", function()
        keep_connections()
        world:expect("new", "one.example.com", "/kept")
        local one, two = loads()
        assert.same({ { in_flight = 0, fails = 0 }, { in_flight = 0, fails = 0 } }, { one, two })
    end)

    it("counts a failure for each new connection without an answer", function()
        keep_connections()
        world:ask("one.example.com", "/drop")
        local one, two = loads()
        assert.same({ { in_flight = 0, fails = 1 }, { in_flight = 0, fails = 1 } }, { one, two })
    end)

    it("tries an endpoint again if there is no other, and counts that, too", function()
        assert(world.sim:load(slices.slice("web", "one", "one-1", { "127.0.0.1" },
            world.backends.backend_port)))
        world:expect("web/one", "one.example.com", "/")
        local status = world:ask("one.example.com", "/drop")
        assert.equal(502, status)
        assert.equal(3, world:count("GET /drop")) -- a kept connection, a new one, another try
        assert.equal(2, world:loads("web/one:80")["10.127.0.1"].fails)
    end)

    local BAD_BODY = "POST / HTTP/1.1\\r\\nHost: one.example.com\\r\\n"
        .. "Transfer-Encoding: chunked\\r\\n\\r\\nno chunk\\r\\n"

    -- The answer to a body that is no chunk, which nginx itself gives.
    local function send_bad_body()
        return copies.shell(("bash -c \"exec 3<>/dev/tcp/127.0.0.1/%d; printf '%s' >&3; "
            .. "timeout 5 head -n 1 <&3\""):format(world.one.port, BAD_BODY))
    end

    for _, by in ipairs { "ewma", "round_robin" } do
        it("learns nothing of an endpoint from what nginx answers itself: " .. by, function()
            assert(world.sim:patch("ingresses", "web/one", { metadata = { annotations = {
                ["nginx.ingress.kubernetes.io/load-balance"] = by } } }))
            world:expect("web/two", "one.example.com", "/")
            for _ = 1, 4 do
                assert.match("^HTTP/1.1 400 ", send_bad_body())
            end
            local one, two = loads()
            assert.same({ { in_flight = 0, fails = 0 }, { in_flight = 0, fails = 0 } },
                { one, two })
        end)
    end

    it("sends any method to another endpoint if the first gives no connection", function()
        assert(world.sim:load(slices.slice("web", "one", "one-1", { "127.0.0.1", "127.0.0.9" },
            world.backends.backend_port)))
        for _, method in ipairs { "MOVE", "POST", "GET" } do
            for i = 1, 2 do
                world:expect("web/one", "one.example.com", "/" .. method .. i, "-X " .. method)
            end
        end
    end)
end)

local OTHER = [[
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: one
  namespace: web
  annotations:
    nginx.ingress.kubernetes.io/default-backend: one
    nginx.ingress.kubernetes.io/proxy-read-timeout: "%d"
spec:
  ingressClassName: kubelua
  rules:
  - host: one.example.com
    http: {paths: [
      {path: /, pathType: Prefix, backend: {service: {name: %s, port: {number: 80}}}}]}
  - host: three.example.com
    http: {paths: [
      {path: /%s, pathType: Prefix, backend: {service: {name: three, port: {number: 80}}}}]}
]]

describe("the gateway takes turns", function()
    local world

    setup(function()
        world = gateway_world.start { load = INGRESS, workers = 1,
            services = { "web/one", "web/two", "web/three" } }
        assert(world.sim:load(slices.service("web", "empty")))
        assert(world.sim:load(slices.slice("web", "one", "one-1", { "127.0.0.1", "127.0.0.2" },
            world.backends.backend_port)))
    end)

    teardown(function()
        world:close()
    end)

    -- Another rule for each request: how often each backend was asked.
    local function count_turns(service)
        local counts = {}
        for i = 1, 6 do
            assert(world.sim:load(OTHER:format(10 + i, service, service .. i)))
            world:expect("web/three", "three.example.com", "/" .. service .. i)
            local _, body = world:ask("one.example.com", "/")
            local name = body:match("^%S+")
            counts[name] = (counts[name] or 0) + 1
        end
        return counts
    end

    it("through changes of the route", function()
        assert.same({ ["web/one"] = 3, ["web/two"] = 3 }, count_turns("one"))
    end)

    it("at the default backend", function()
        assert.same({ ["web/one"] = 3, ["web/two"] = 3 }, count_turns("empty"))
    end)
end)
