-- What becomes of a request at its endpoints: which failures are tried again, and what the
-- balancers of the gateway learn of an answer.
local copies = require "nginx_copies"
local gateway_yaml = require "gateway_yaml"
local gateway_world = require "gateway_world"
local slices = require "slices"

local INGRESS = gateway_yaml.INGRESS_CLASS .. [[
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

local RETRIES = gateway_yaml.GATEWAY .. [[
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: again, namespace: web}
spec:
  parentRefs: [{name: main}]
  hostnames: [again.example.com]
  rules:
  - matches: [{path: {type: PathPrefix, value: /drop}}, {path: {type: PathPrefix, value: /503}}]
    retry: {attempts: 2, codes: [503]}
    backendRefs: [{name: one, port: 80}]
  - matches: [{path: {type: PathPrefix, value: /new/503}}]
    retry: {codes: [503]}
    filters: [{type: URLRewrite, urlRewrite: {
      path: {type: ReplacePrefixMatch, replacePrefixMatch: /503}}}]
    backendRefs: [{name: one, port: 80}]
  - matches: [{path: {type: PathPrefix, value: /alone}}]
    retry: {attempts: 3, codes: [503]}
    filters: [{type: URLRewrite, urlRewrite: {
      path: {type: ReplacePrefixMatch, replacePrefixMatch: /503}}}]
    backendRefs: [{name: bad, port: 80}]
  - matches: [{path: {type: PathPrefix, value: /never}}]
    retry: {attempts: 0, codes: [503]}
    filters: [{type: URLRewrite, urlRewrite: {
      path: {type: ReplacePrefixMatch, replacePrefixMatch: /503}}}]
    backendRefs: [{name: bad, port: 80}]
  - matches: [{path: {type: PathPrefix, value: /late}}]
    timeouts: {request: 600ms, backendRequest: 250ms}
    retry: {attempts: 5}
    backendRefs: [{name: one, port: 80}]
  - retry: {codes: [503]}
    backendRefs: [{name: one, port: 80}]
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
spec:
  ingressClassName: kubelua
  rules:
  - host: old.example.com
    http: {paths: [
      {path: /, pathType: Prefix, backend: {service: {name: said, port: {number: 80}}}}]}
]]

describe("the gateway, after a status that is to be tried again,", function()
    local world
    local HOST, OLD = "again.example.com", "old.example.com"

    setup(function()
        world = gateway_world.start { load = RETRIES, workers = 1 }
        local port = world.backends.backend_port
        local both = { "127.0.0.1", "127.0.0.2" }
        for name, addresses in pairs { one = both, said = both, bad = { "127.0.0.1" } } do
            assert(world.sim:load(slices.service("web", name)))
            assert(world.sim:load(slices.slice("web", name, name .. "-1", addresses, port)))
            assert(world.sim:patch("services", "web/" .. name, { metadata = { annotations = {
                ["kubelua.dev/balance-max-fails"] = "0", ["kubelua.dev/retry-on"]
                    = name == "said" and "error http_500 http_502 non_idempotent" or nil } } }))
        end
        world:expect(503, HOST, "/alone")
        for _ = 1, 20 do
            world:expect("good", HOST, "/503")
            world:expect("good", OLD, "/500")
        end
    end)

    teardown(function()
        world:close()
    end)

    -- What two requests get, of which each endpoint is asked first by one.
    local function ask_twice(host, path, words)
        local answers = {}
        for i = 1, 2 do
            local status, body = world:ask(host, path, words)
            answers[i] = status .. " " .. body
        end
        table.sort(answers)
        return answers[1], answers[2]
    end

    it("asks another endpoint", function()
        assert.same({ "200 good", "200 good" }, { ask_twice(HOST, "/503") })
        assert.same({ "200 good", "200 good" }, { ask_twice(HOST, "/new/503") })
        assert.same({ "200 good", "200 good" }, { ask_twice(OLD, "/502") })
    end)

    it("gives the client the answer itself, if it is another status", function()
        for _, path in ipairs { "/500", "/429", "/504" } do
            assert.same({ "200 good", path:sub(2) .. " bad" }, { ask_twice(HOST, path) })
        end
        assert.same({ "200 good", "503 bad" }, { ask_twice(OLD, "/503") })
    end)

    it("gives the client the last answer, if no try is left", function()
        for path, tries in pairs { ["/alone"] = 4, ["/never"] = 1 } do
            local before = world:count("GET /503")
            local status, body = world:ask(HOST, path)
            assert.same({ 503, "bad", tries }, { status, body, world:count("GET /503") - before })
        end
    end)

    it("tries no more once the time for the request is over", function()
        local worker = world.backends:workers()[1]
        world.backends:signal("STOP", worker) -- connections succeed, and nothing answers
        local status = world:ask(HOST, "/late")
        world.backends:signal("CONT", worker)
        assert.equal(504, status)
        local count = world.one:count("upstream timed out")
        assert.is_true(count >= 1 and count < 6, count)
    end)

    it("gives the client the answer to what is never repeated", function()
        for _, method in ipairs { "POST", "PATCH", "MOVE" } do
            assert.same({ "200 good", "503 bad" }, { ask_twice(HOST, "/503", "-X " .. method) })
        end
    end)

    it("repeats any method, if the policy says so", function()
        for _, method in ipairs { "POST", "MOVE" } do
            assert.same({ "200 good", "200 good" }, { ask_twice(OLD, "/500", "-X " .. method) })
        end
    end)
end)
