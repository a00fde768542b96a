-- What an administrator sees of the gateway: /kubelua, /metrics and `kubelua gateway routes`.
local copies = require "nginx_copies"
local eventually = require "eventually"
local gateway_yaml = require "gateway_yaml"
local gateway_world = require "gateway_world"
local values = require "kubelua.values"

local OBJECTS = gateway_yaml.GATEWAY .. [[
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop, namespace: web}
spec:
  parentRefs: [{name: main}]
  hostnames: [shop.example.com]
  rules:
  - matches: [{path: {type: PathPrefix, value: /}}]
    backendRefs: [{name: one, port: 80, weight: 3}, {name: two, port: 80, weight: 0}]
  - matches:
    - path: {type: Exact, value: /pay}
      method: POST
      headers: [{name: X-Test, value: "yes"}, {name: Authorization, value: Basic c2VjcmV0}]
    filters:
    - type: RequestRedirect
      requestRedirect: {statusCode: 302, hostname: pay.example.com}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: lost, namespace: web}
spec:
  parentRefs: [{name: nowhere}]
  rules: [{backendRefs: [{name: one, port: 80}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: broken, namespace: db}
spec:
  parentRefs: [{name: main, namespace: web}]
  rules: [{backendRefs: [{name: three, port: 80}]}]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: old
  namespace: db
  annotations:
    nginx.ingress.kubernetes.io/configuration-snippet: "deny all;"
    nginx.ingress.kubernetes.io/affinity: cookie
    nginx.ingress.kubernetes.io/session-cookie-name: crumbs
spec:
  ingressClassName: nginx
  rules:
  - host: db.example.com
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: three, port: {number: 80}}}}
]]

describe("what is there, seen", function()
    local world

    setup(function()
        world = gateway_world.start { load = OBJECTS, options = "nginx = true" }
        world:expect("web/one", "shop.example.com", "/")
        world:expect("db/three", "db.example.com", "/")
    end)

    teardown(function()
        world:close()
    end)

    local function ask_admin(path, words)
        local said = copies.shell(("curl -s -m 20 %s -w '\\n%%{http_code}' 'http://127.0.0.1:%d%s'")
            :format(words or "", world.admin_port, path))
        local body, code = said:match("^(.*)\n(%d+)$")
        return body, tonumber(code)
    end

    local function dump(query)
        local body, code = ask_admin("/kubelua" .. (query or ""))
        assert.equal(200, code, body .. world.one:said())
        return assert(values.decode(body), body)
    end

    local function find(list, field, wanted)
        for _, item in ipairs(list) do
            if item[field] == wanted then
                return item
            end
        end
    end

    local function refused_of(object)
        local item
        eventually(function()
            item = find(dump().refused, "object", object)
            return item
        end, object .. " is in /kubelua", 10)
        return item.reasons
    end

    local function metric(text, line)
        return tonumber(text:match("\n" .. line:gsub("%p", "%%%0") .. " (%S+)"))
    end

    local function await_metric(line, wanted)
        local text
        eventually(function()
            text = ask_admin("/metrics")
            return metric(text, line) == wanted
        end, function() return line .. " " .. wanted .. "\n" .. text end, 10)
        return text
    end

    it("shows the owner, the tables and the state of the map", function()
        local seen
        eventually(function()
            seen = dump()
            return seen.age and seen.age >= 0
        end, "the age is told", 10)
        assert.equal(tonumber(world:owner()), seen.owner.pid)
        assert.is_true(seen.owner.alive)
        assert.is_true(seen.owner.since >= seen.published)
        assert.is_true(seen.ready and seen.synced and seen.generation > 0)
        assert.same({}, seen.left_out)
        assert.same({}, seen.missing)
        for _, name in ipairs { "services", "gateway.hosts", "gateway.entries",
            "gateway.refused" } do
            local item = assert(find(seen.tables, "name", name), name)
            assert.is_true(item.complete)
            assert.is_true(item.entries > 0 and item.bytes >= 64 * item.entries, name)
        end
    end)

    it("shows Services with their endpoints, once for all names of a port", function()
        local service = find(dump("?show=services").services, "name", "web/one")
        assert.equal(1, #service.ports)
        local endpoint = service.ports[1].endpoints[1]
        assert.equal("127.0.0.1", (endpoint.host:gsub("^10%.127%.", "127.0.")))
        assert.is_true(endpoint.ready and endpoint.serving and not endpoint.terminating)
        assert.equal(1, endpoint.weight)
        assert.equal(0, endpoint.load.in_flight)
        assert.equal(0, endpoint.load.fails)
        service = find(dump().services, "name", "web/two")
        assert.is_nil(service.ports[1].endpoints[1].load, "it got no request")
    end)

    it("shows routes with their source, match and backends", function()
        local routes = dump("?host=shop.example.com&show=routes").routes
        assert.equal(2, #routes)
        local plain, pay = find(routes, "path", "/"), find(routes, "path", "/pay")
        assert.same({ "HTTPRoute web/shop", 1, "prefix", "*", 80, false }, { plain.object,
            plain.rule, plain.type, plain.address, plain.port, plain.tls })
        assert.same({ { service = "web/one:80", weight = 3, ready = 1, endpoints = 1 } },
            plain.backends)
        assert.same({ "HTTPRoute web/shop", 2, "exact", "POST" }, { pay.object, pay.rule, pay.type,
            pay.method })
        assert.same({ "redirect" }, pay.filters)
        assert.same({ name = "x-test", value = "yes" }, find(pay.headers, "name", "x-test"))
        assert.same({ name = "authorization" }, find(pay.headers, "name", "authorization"))
    end)

    it("says why an object is not served as it is written", function()
        assert.same({ { reason = "NoMatchingParent",
            message = "there is no Gateway web/nowhere" } }, refused_of("HTTPRoute web/lost"))
        assert.equal("NotAllowedByListeners", refused_of("HTTPRoute db/broken")[1].reason)
        local snippet = refused_of("Ingress db/old")[1]
        assert.equal("Unsupported", snippet.reason)
        assert.matches("configuration%-snippet: text for nginx.conf", snippet.message)
    end)

    it("forgets a reason once it is gone", function()
        assert(world.sim:load((OBJECTS:match("(%-%-%-\n[^-]-name: broken.*)%-%-%-")
            :gsub("name: broken", "name: passing"))))
        refused_of("HTTPRoute db/passing")
        assert(world.sim:delete("httproutes", "db/passing"))
        eventually(function()
            return not find(dump().refused, "object", "HTTPRoute db/passing")
        end, "the route is gone from /kubelua", 10)
    end)

    it("shows what is asked for", function()
        assert.equal(0, #dump("?host=none.example.com").routes)
        assert.equal(0, #dump("?namespace=db&show=services,routes").services - 1)
        assert.equal("Ingress db/old", dump("?namespace=db").routes[1].object)
        assert.equal(1, #dump("?service=web/one&show=routes").routes)
        assert.equal(1, #dump("?service=one&show=services").services)
        assert.equal("Ingress db/old", dump("?host=db.example.com").refused[1].object)
        assert.equal(0, #dump("?host=shop.example.com").refused)
        assert.is_nil(dump("?show=refused").routes)
        local body, code = ask_admin("/kubelua?show=secrets")
        assert.equal(400, code)
        assert.equal("gateway.show: there is no section 'secrets'; there are: routes, refused, "
            .. "services, tables\n", body)
    end)

    it("shows no Secret, no cookie and no password", function()
        assert(copies.shell("cd " .. world.one.folder .. " && openssl req -x509 -newkey rsa:2048 "
            .. "-nodes -days 2 -subj /CN=tls.example.com -keyout k.pem -out c.pem"))
        local function base64_of(name)
            local text = copies.shell("base64 -w0 " .. world.one.folder .. "/" .. name)
            return text
        end
        assert(world.sim:apply { apiVersion = "v1", kind = "Secret", type = "kubernetes.io/tls",
            metadata = { name = "pair", namespace = "db" },
            data = { ["tls.crt"] = base64_of("c.pem"), ["tls.key"] = base64_of("k.pem") } })
        assert(world.sim:apply { apiVersion = "networking.k8s.io/v1", kind = "Ingress",
            metadata = { name = "tls", namespace = "db" }, spec = { ingressClassName = "nginx",
            tls = { { hosts = { "tls.example.com" }, secretName = "pair" } },
            rules = { { host = "tls.example.com" } },
            defaultBackend = { service = { name = "three", port = { number = 80 } } } } })
        eventually(function()
            local table_of_secrets = find(dump().tables, "name", "gateway.secrets")
            return table_of_secrets and table_of_secrets.entries == 1
        end, "the pair is in the map", 10)
        local body = ask_admin("/kubelua")
        for _, hidden in ipairs { "PRIVATE", "BEGIN", "c2VjcmV0", "crumbs", "tls.key",
            base64_of("k.pem"):sub(40, 80) } do
            assert.is_nil(body:find(hidden, 1, true), hidden)
        end
    end)

    local function routes(words)
        local said, status = copies.shell(("bin/kubelua gateway routes --url "
            .. "http://127.0.0.1:%d/%s"):format(world.admin_port, words))
        return said, status
    end

    it("prints routes, and what is refused, as a table", function()
        refused_of("Ingress db/old")
        local said = routes("kubelua")
        local words = { "HOST", "PORT", "PATH", "TYPE", "METHOD", "SOURCE", "BACKENDS", "READY",
            "REASON" }
        assert.matches("^" .. table.concat(words, " +"), said)
        assert.matches("\nshop.example.com +80 +/ +prefix +%- +HTTPRoute web/shop 1 +"
            .. "web/one:80=3 +1/1 +%-\n", said)
        assert.matches("\nshop.example.com +80 +/pay +exact +POST +HTTPRoute web/shop 2 ", said)
        assert.matches("\ndb.example.com +443,80 +/ .- Unsupported\n", said)
        assert.matches("\n%- .- HTTPRoute web/lost .- NoMatchingParent: there is no Gateway "
            .. "web/nowhere$", said)
        said = routes("kubelua --host shop.example.com -o wide")
        assert.matches("\nshop.example.com +%*:80 +/pay .- authorization=%(hidden%)", said)
        assert.is_nil(said:find("db.example.com", 1, true))
        assert.equal(1, #values.decode((routes("kubelua --service web/one -o json"))).routes)
        assert.matches("^No routes found", (routes("kubelua --namespace none 2>&1")))
    end)

    it("says why it prints none", function()
        for words, wanted in pairs { ["none"] = "there is no such page",
            ["metrics"] = "is not the page of a gateway", ["readyz"] = "begins with \"\"",
            ["kubelua?show=x"] = "there is no section 'x'" } do
            local said, status = routes(words .. " 2>&1")
            assert.matches(wanted, said)
            assert.not_equal(0, status)
        end
    end)

    it("counts requests by route and class, and their time", function()
        local labels = 'kind="HTTPRoute",namespace="web",route="shop"'
        local text = ask_admin("/metrics")
        local name = "kubelua_gateway_requests_total{" .. labels .. ',code="%s"}'
        local ok = metric(text, name:format("2xx")) or 0
        local moved = metric(text, name:format("3xx")) or 0
        for _ = 1, 5 do
            world:ask("shop.example.com", "/")
        end
        world:ask("shop.example.com", "/pay",
            "-X POST -H 'X-Test: yes' -H 'Authorization: Basic c2VjcmV0'")
        await_metric(name:format("2xx"), ok + 5)
        text = await_metric(name:format("3xx"), moved + 1)
        local duration = "kubelua_gateway_request_duration_seconds"
        assert.equal(ok + moved + 6, metric(text, duration .. "_count{" .. labels .. "}"))
        assert.equal(ok + moved + 6, metric(text, duration .. "_bucket{" .. labels
            .. ',le="+Inf"}'))
        assert.is_true(metric(text, duration .. "_sum{" .. labels .. "}") < 30)
    end)

    it("counts requests that no route takes", function()
        local line = 'kubelua_gateway_requests_total{kind="none",namespace="",route="",code="4xx"}'
        local before = metric(ask_admin("/metrics"), line) or 0
        assert.equal(404, (world:ask("none.example.com", "/")))
        await_metric(line, before + 1)
    end)

    it("counts tries by Service and outcome, and the time until the answer", function()
        local line = 'kubelua_gateway_upstream_requests_total{namespace="web",service="one",'
            .. 'port="80",outcome="ok"}'
        local before = metric(ask_admin("/metrics"), line)
        world:ask("shop.example.com", "/")
        local text = await_metric(line, before + 1)
        assert.equal(before + 1, metric(text, 'kubelua_gateway_upstream_header_seconds_count{'
            .. 'namespace="web",service="one",port="80"}'))
    end)

    it("keeps counting through a reload and the death of a worker", function()
        local line = 'kubelua_gateway_requests_total{kind="HTTPRoute",namespace="web",'
            .. 'route="shop",code="2xx"}'
        local function await_more(than)
            local value
            eventually(function()
                value = metric(ask_admin("/metrics"), line)
                return value and value > than
            end, function() return ("%s above %g, not %s"):format(line, than, value) end, 10)
            return value
        end
        local value = 0
        for i = 1, 3 do
            world:expect("web/one", "shop.example.com", "/")
            value = await_more(value) -- it is counted after its answer
            if i == 1 then
                world.one:reload()
            else
                world.one:signal("KILL", world:owner())
            end
            world:expect("web/one", "shop.example.com", "/")
            value = await_more(value)
        end
    end)

    it("forgets the series of a route and a Service that were deleted", function()
        local route = OBJECTS:match("%-%-%-\n([^-]-name: shop.-)\n%-%-%-"):gsub("name: shop",
            "name: brief"):gsub("shop%.example", "brief.example")
        assert(world.sim:load(route))
        world:expect("web/one", "brief.example.com", "/")
        await_metric('kubelua_gateway_requests_total{kind="HTTPRoute",namespace="web",'
            .. 'route="brief",code="2xx"}', 1)
        assert(world.sim:delete("httproutes", "web/brief"))
        eventually(function()
            return not ask_admin("/metrics"):find('route="brief"', 1, true)
        end, "the series of the route is gone", 30)
        assert.truthy(ask_admin("/metrics"):find('route="shop"', 1, true))
    end)

    it("gives metrics that a parser of Prometheus takes, each family once", function()
        local seen, family = {}, nil
        for line in ask_admin("/metrics"):gmatch("[^\n]+") do
            local typed = line:match("^# TYPE (%S+)")
            if typed then
                assert.is_nil(seen[typed], typed)
                seen[typed], family = true, typed
            elseif line:sub(1, 1) ~= "#" then
                local name = line:match("^[%w_]+")
                assert.matches("^[%w_]+{?[^{}]*}? %-?[%d.e+naif-]+$", line:lower())
                assert.equal(family, name:gsub("_bucket$", ""):gsub("_count$", "")
                    :gsub("_sum$", ""):gsub("^" .. family .. ".*", family), line)
            end
        end
    end)
end)
