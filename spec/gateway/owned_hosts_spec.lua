-- hosts = "owned": a host belongs to the namespace of the oldest route or Ingress that names it.
package.path = "spec/gateway/?.lua;" .. package.path
local ingress = require "resty.kubelua.gateway.ingress"
local objects = require "gateway_objects"

local GATE = objects.gateway("web/gate", {
    objects.listener("http", 80, { allowedRoutes = { namespaces = { from = "All" } } }),
    objects.listener("more", 8080, { allowedRoutes = { namespaces = { from = "All" } } }),
    objects.listener("own", 8081, { hostname = "*.own.com",
        allowedRoutes = { namespaces = { from = "All" } } }) })

local function route(name, host, day, section)
    return objects.route(name, { hostnames = { host }, rules = { {} }, parentRefs = {
        { name = "gate", namespace = "web", sectionName = section } } },
        { creationTimestamp = ("2026-01-%02dT00:00:00Z"):format(day) })
end

local function sources(host)
    local list = {}
    for i, rule in ipairs(host and host.rules or {}) do
        list[i] = rule.source
    end
    table.sort(list)
    return table.concat(list, ",")
end

describe("an owned host", function()
    it("is that of the oldest route's namespace, on all ports of the address", function()
        local old = route("a/old", "x.com", 1, "http")
        local compiler = objects.compiler({ owned = true }, GATE, old,
            route("a/new", "x.com", 9, "more"), route("b/thief", "x.com", 2, "more"),
            route("b/other", "y.com", 3))
        local result = compiler:run()
        assert.equal("HTTPRoute a/old 1", sources(result.hosts["*:80 * x.com"]))
        assert.equal("HTTPRoute a/new 1", sources(result.hosts["*:8080 * x.com"]))
        assert.equal("HTTPRoute b/other 1", sources(result.hosts["*:80 * y.com"]))
        assert.equal("Accepted False HostnameConflict",
            objects.of_parent(result, "HTTPRoute b/thief", "Accepted"))
        assert.matches("belongs to the namespace a, whose HTTPRoute old is older",
            result.problems[1].message)
        compiler:delete("HTTPRoute", old)
        result = compiler:run()
        assert.equal("HTTPRoute b/thief 1", sources(result.hosts["*:8080 * x.com"]))
        assert.equal("Accepted False HostnameConflict",
            objects.of_parent(result, "HTTPRoute a/new", "Accepted"))
    end)

    it("is not asked for where the listener has a hostname, or the route has none", function()
        local result = objects.compiler({ owned = true }, GATE, route("a/r", "x.own.com", 1, "own"),
            route("b/r", "x.own.com", 2, "own"), route("a/all", nil, 1, "http"),
            route("b/all", nil, 2, "http")):run()
        assert.equal("HTTPRoute a/r 1,HTTPRoute b/r 1",
            sources(result.hosts["*:8081 *.own.com x.own.com"]))
        assert.equal("HTTPRoute a/all 1,HTTPRoute b/all 1", sources(result.hosts["*:80 * *"]))
    end)

    it("is shared unless the option says owned", function()
        local result = objects.compiler(nil, GATE, route("a/r", "x.com", 1, "http"),
            route("b/r", "x.com", 2, "http")):run()
        assert.equal("HTTPRoute a/r 1,HTTPRoute b/r 1", sources(result.hosts["*:80 * x.com"]))
    end)
end)

local function ingress_of(name, host, day, annotations)
    local namespace, own = name:match("^(.-)/(.+)$")
    local backend = { service = { name = "s", port = { number = 80 } } }
    local paths = { { path = "/" .. own, pathType = "Prefix", backend = backend } }
    return { metadata = { namespace = namespace, name = own, annotations = annotations,
        creationTimestamp = ("2026-01-%02dT00:00:00Z"):format(day) },
        spec = { ingressClassName = "nginx", rules = { { host = host,
            http = { paths = paths } } } } }
end

describe("an owned host of an Ingress", function()
    local PREFIX = "nginx.ingress.kubernetes.io/"

    it("takes no path, canary or regular expression of another namespace", function()
        local result = ingress.compile({ ingresses = { ingress_of("a/one", "x.com", 2),
            ingress_of("b/two", "x.com", 3, { [PREFIX .. "use-regex"] = "true" }),
            ingress_of("b/one", "x.com", 1, { [PREFIX .. "canary"] = "true",
                [PREFIX .. "canary-weight"] = "50" }) } }, { nginx = true, owned = true })
        assert.same({ ["a/one"] = true }, { ["a/one"] = result.contributions["a/one"] ~= nil,
            ["b/one"] = result.contributions["b/one"], ["b/two"] = result.contributions["b/two"] })
        local first = result.contributions["a/one"][1]
        assert.equal("prefix", first.matches[1].kind)
        assert.equal(1, #first.rules[1].backends)
        local told = {}
        for _, problem in ipairs(result.problems) do
            told[problem.object] = told[problem.object] or problem.message
        end
        assert.matches("belongs to the namespace a", told["Ingress b/two"])
        assert.matches("belongs to the namespace a", told["Ingress b/one"])
    end)
end)
