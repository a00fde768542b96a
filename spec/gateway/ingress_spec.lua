-- Ingresses as matches and rules: hosts, paths, TLS, canaries, conflicts.
local ingress = require "resty.kubelua.gateway.ingress"

local NGINX = "nginx.ingress.kubernetes.io/"

local function backend(name, port)
    return { service = { name = name, port = type(port) == "string" and { name = port }
        or { number = port or 80 } } }
end

local function path(text, kind, name, port)
    return { path = text, pathType = kind or "Prefix", backend = backend(name or "shop", port) }
end

-- An Ingress web/NAME; `more` may have annotations (without the prefix), created, host, paths, ...
local function make(name, more)
    local annotations = { ["kubernetes.io/ingress.class"] = more.class }
    for key, value in pairs(more.annotations or {}) do
        annotations[NGINX .. key] = value
    end
    return { metadata = { namespace = "web", name = name, annotations = annotations,
            creationTimestamp = more.created or "2026-01-01T00:00:00Z" },
        spec = more.spec or { ingressClassName = "nginx", tls = more.tls,
            defaultBackend = more.default, rules = { { host = more.host or "shop.example.com",
            http = { paths = more.paths or { path("/") } } } } } }
end

local function service(name, ports, external)
    return { metadata = { namespace = "web", name = name }, spec = { ports = ports,
        type = external and "ExternalName", externalName = external } }
end

local function compile(list, more)
    more = more or {}
    return ingress.compile({ ingresses = list, classes = more.classes, services = more.services },
        { nginx = true })
end

-- What the Ingresses together give to a host on port 80: "kind path -> service", in order.
local function table_of(result, host, entry)
    local lines, rules = {}, {}
    local names = {}
    for name in pairs(result.contributions) do
        names[#names + 1] = name
    end
    table.sort(names)
    for _, name in ipairs(names) do
        for _, each in ipairs(result.contributions[name]) do
            if each.host == host and each.entry == (entry or "*:80") then
                for _, match in ipairs(each.matches) do
                    local rule = each.rules[match.rule]
                    local first = rule.backends[1] or {}
                    lines[#lines + 1] = ("%s %s -> %s"):format(match.kind, match.path,
                        first.service or tostring(first.status))
                    rules[#rules + 1] = rule
                end
            end
        end
    end
    return lines, rules
end

local function messages(result)
    local list = {}
    for i, problem in ipairs(result.problems) do
        list[i] = problem.kind .. " " .. problem.object .. ": "
            .. (problem.annotation and problem.annotation:gsub("^.*/", "") .. ": " or "")
            .. problem.message
    end
    return list
end

describe("hosts and paths of Ingresses", function()
    it("become prefix and exact matches, with 404 for what fits no path", function()
        local lines = table_of(compile { make("a", { paths = { path("/api"),
            path("/login", "Exact", "login", "http") } }) }, "shop.example.com")
        assert.same({ "prefix /api -> web/shop:80", "exact /login -> web/login:http",
            "prefix / -> 404" }, lines)
    end)

    it("need no 404 where the Ingress has the path /", function()
        assert.same({ "prefix / -> web/shop:80" },
            (table_of(compile { make("a", {}) }, "shop.example.com")))
    end)

    it("are on both ports", function()
        local result = compile { make("a", {}) }
        assert.same({ "prefix / -> web/shop:80" },
            (table_of(result, "shop.example.com", "*:443")))
    end)

    it("without host are those of every host; a wildcard is kept", function()
        local result = compile { make("a", { spec = { ingressClassName = "nginx", rules = {
            { http = { paths = { path("/") } } },
            { host = "*.Example.com", http = { paths = { path("/", nil, "wild") } } } } } }) }
        assert.same({ "prefix / -> web/shop:80" }, (table_of(result, "*")))
        assert.same({ "prefix / -> web/wild:80" }, (table_of(result, "*.example.com")))
        assert.match("capital letters", messages(result)[1])
    end)

    it("without rules send all requests to the default backend", function()
        local result = compile { make("a", { spec = { ingressClassName = "nginx",
            defaultBackend = backend("all", 8080) } }) }
        assert.same({ "prefix / -> web/all:8080" }, (table_of(result, "*")))
    end)

    it("with rules and a default backend send it what fits no path of their hosts", function()
        local result = compile { make("a", { paths = { path("/a") }, default = backend("rest") }) }
        assert.same({ "prefix /a -> web/shop:80", "prefix / -> web/rest:80" },
            (table_of(result, "shop.example.com")))
        assert.same({}, (table_of(result, "*")))
    end)

    it("with a slash at the end, or ImplementationSpecific, fit by elements", function()
        local result = compile { make("a", { paths = { path("/a/"),
            path("/b", "ImplementationSpecific") } }) }
        assert.same({ "prefix /a -> web/shop:80", "prefix /b -> web/shop:80", "prefix / -> 404" },
            (table_of(result, "shop.example.com")))
        assert.match("the path /a/ also fits /a", messages(result)[1], 1, true)
        assert.match("the path /b (ImplementationSpecific) is taken as Prefix",
            messages(result)[2], 1, true)
    end)

    it("that cannot be served are left out, and named", function()
        local result = compile { make("a", { paths = { path("a"), path("/b", "Regex"), path("/ok"),
            "nonsense" }, annotations = {} }) }
        assert.same({ "prefix /ok -> web/shop:80", "prefix / -> 404" },
            (table_of(result, "shop.example.com")))
        assert.equal(3, #result.problems)
    end)

    it("of rubbish objects raise nothing", function()
        for _, spec in ipairs { false, { rules = "x" },
            { rules = { 1, { host = 5 }, { http = 1 } } },
            { rules = { { http = { paths = { { path = {}, pathType = {} } } } } }, tls = 1 },
            { tls = { 1, { hosts = 5, secretName = {} } }, defaultBackend = "x" },
            { rules = { { host = ("a"):rep(10000), http = { paths = { path("/") } } } } } } do
            local object = make("a", { class = "nginx", spec = spec })
            object.spec = spec
            assert.is_table(compile({ object }).contributions)
        end
    end)
end)

describe("a path of two Ingresses", function()
    it("belongs to the older one, and the other is told", function()
        local result = compile { make("new", { created = "2026-02-01T00:00:00Z",
            paths = { path("/", nil, "new") } }),
            make("old", { paths = { path("/", nil, "old") } }) }
        assert.same({ "prefix / -> web/old:80" }, (table_of(result, "shop.example.com")))
        assert.same({ "conflict Ingress web/new: / Prefix of shop.example.com is also in Ingress "
            .. "web/old, which is older, and gets the requests" }, messages(result))
    end)

    it("of one age belongs to the first by name", function()
        local result = compile { make("b", { paths = { path("/", nil, "b") } }),
            make("a", { paths = { path("/", nil, "a") } }) }
        assert.same({ "prefix / -> web/a:80" }, (table_of(result, "shop.example.com")))
    end)

    it("is none if one is Exact and the other Prefix", function()
        local result = compile { make("a", { paths = { path("/x"), path("/x", "Exact", "e") } }) }
        assert.same({ "prefix /x -> web/shop:80", "exact /x -> web/e:80", "prefix / -> 404" },
            (table_of(result, "shop.example.com")))
        assert.same({}, messages(result))
    end)
end)

describe("regular expressions in paths", function()
    it("make all paths of the host such, whichever Ingress they are of", function()
        local result = compile { make("a", { annotations = { ["use-regex"] = "true" },
            paths = { path("/a/.*", "ImplementationSpecific") } }),
            make("b", { paths = { path("/b", "Exact", "b") } }),
            make("c", { host = "other.example.com", paths = { path("/c", "Exact") } }) }
        assert.same({ "regex (?is)^/a/.* -> web/shop:80", "prefix / -> 404",
            "regex (?is)^/b -> web/b:80" }, (table_of(result, "shop.example.com")))
        assert.same({ "exact /c -> web/shop:80", "prefix / -> 404" },
            (table_of(result, "other.example.com")))
    end)

    it("come with rewrite-target, whose filter has the pattern", function()
        local lines, rules = table_of(compile { make("a", { paths = {
            path("/api(/|$)(.*)", "ImplementationSpecific") },
            annotations = { ["rewrite-target"] = "/$2" } }) }, "shop.example.com")
        assert.equal("regex (?is)^/api(/|$)(.*) -> web/shop:80", lines[1])
        assert.same({ { type = "rewrite", path = { kind = "regex", value = "/$2",
            pattern = "(?is)^/api(/|$)(.*)" } } }, rules[1].filters)
    end)

    it("and another Host are one filter", function()
        local _, rules = table_of(compile { make("a", { paths = { path("/a") }, annotations = {
            ["rewrite-target"] = "/b", ["upstream-vhost"] = "$service_name.$namespace.svc" } }) },
            "shop.example.com")
        assert.same({ { type = "rewrite", host = "shop.web.svc", path = { kind = "regex",
            pattern = "(?is)^/a", value = "/b" } } }, rules[1].filters)
    end)

    it("do not come with a rewrite-target that is the path", function()
        local lines, rules = table_of(compile { make("a", {
            annotations = { ["rewrite-target"] = "/" } }) }, "shop.example.com")
        assert.same({ "prefix / -> web/shop:80" }, lines)
        assert.same({}, rules[1].filters)
    end)

    it("that name a group which the path lacks are told", function()
        local result = compile { make("a", { annotations = { ["rewrite-target"] = "/$2" },
            paths = { path("/a(?:x)(/.*)", "ImplementationSpecific") } }) }
        assert.match("names the group $2, but the path /a(?:x)(/.*) has 1", messages(result)[1], 1,
            true)
    end)

    it("that are none are left out", function()
        local list = {}
        for i, text in ipairs { "/a(b", "/a[b", "/a|*", "/a)", "/[]x](?<n>a)(?=b)\\(" } do
            list[i] = path(text, "ImplementationSpecific")
        end
        local result = compile { make("a", { annotations = { ["use-regex"] = "true" },
            paths = list }) }
        assert.equal(4, #result.problems)
        assert.equal("regex (?is)^/[]x](?<n>a)(?=b)\\( -> web/shop:80",
            table_of(result, "shop.example.com")[1])
    end)
end)

describe("backends of an Ingress", function()
    it("get the number of a port's name from the Service", function()
        local result = compile({ make("a", { paths = { path("/", nil, "shop", "http") } }) },
            { services = { service("shop", { { name = "http", port = 8080 } }) } })
        assert.same({ "prefix / -> web/shop:8080" }, (table_of(result, "shop.example.com")))
        assert.same({}, messages(result))
    end)

    it("that do not exist are told, and keep their name, for when they do", function()
        local result = compile({ make("a", { paths = { path("/"), path("/b", nil, "gone"),
            path("/c", nil, "shop", "grpc"), path("/d", nil, "ext") } }) }, { services = {
            service("shop", { { name = "http", port = 80 } }),
            service("ext", nil, "oauth2-proxy.auth.svc.cluster.local") } })
        assert.equal("prefix /b -> web/gone:80", table_of(result, "shop.example.com")[2])
        local told = messages(result)
        assert.match("the Service web/gone does not exist: 503", told[1], 1, true)
        assert.match("has no port grpc: 503", told[2], 1, true)
        assert.match("ExternalName, which has no endpoints: 503; it means auth/oauth2-proxy: put",
            told[3], 1, true)
    end)

    it("get the balancer of their Service, which wins over that of the Ingress", function()
        local shop = service("shop", { { port = 80 } })
        shop.metadata.annotations = { ["kubelua.dev/balance"] = "ewma" }
        local result = compile({ make("a", { default = backend("shop"),
            paths = { path("/a"), path("/b", nil, "none"), path("/c", nil, "other") },
            annotations = { ["load-balance"] = "round_robin", ["default-backend"] = "shop" } }) },
            { services = { shop, service("other", { { port = 80 } }) } })
        local _, rules = table_of(result, "shop.example.com")
        local found = {}
        for i, rule in ipairs(rules) do
            found[i] = rule.backends[1].balance or "none"
        end
        assert.same({ { by = "ewma" }, "none", "none", { by = "ewma" } }, found)
        assert.same({ by = "ewma" }, rules[2].settings.default_balance)
    end)

    it("with a port that is none answer 404", function()
        for _, port in ipairs { 0, 65536, 1e30, 80.5 } do
            local result = compile({ make("a", { paths = { path("/", nil, "shop", port) } }) },
                { services = { service("shop", { { port = port } }, nil) } })
            assert.same({ "prefix / -> 404" }, (table_of(result, "shop.example.com")))
            assert.equal(1, #result.problems)
        end
    end)

    it("that are no Service answer 404", function()
        local result = compile { make("a", { paths = { { path = "/", pathType = "Prefix",
            backend = { resource = { kind = "Bucket", name = "x" } } } } }) }
        assert.same({ "prefix / -> 404" }, (table_of(result, "shop.example.com")))
        assert.match("names no Service", messages(result)[1])
    end)
end)

describe("TLS of an Ingress", function()
    local TLS = { { hosts = { "Shop.example.com" }, secretName = "cert" } }

    it("has a certificate for each host, and redirects to https", function()
        local result = compile { make("a", { tls = TLS }) }
        local list = result.contributions["web/a"]
        assert.same({ nil, { "web/cert" } }, { list[1].certificates, list[2].certificates })
        assert.equal("tls", list[1].rules[1].settings.ssl_redirect)
    end)

    it("of a wildcard holds for one label", function()
        local tls = { { hosts = { "*.example.com" }, secretName = "cert" } }
        local result = compile { make("a", { tls = tls }),
            make("b", { host = "a.b.example.com" }) }
        assert.same({ "web/cert" }, result.contributions["web/a"][2].certificates)
        assert.is_nil(result.contributions["web/b"][2].certificates)
    end)

    it("without hosts is that of the rules' hosts", function()
        local result = compile { make("a", { tls = { { secretName = "cert" } } }) }
        assert.same({ "web/cert" }, result.contributions["web/a"][2].certificates)
    end)

    it("does not redirect if ssl-redirect is false; force-ssl-redirect needs none", function()
        local off = compile { make("a", { tls = TLS,
            annotations = { ["ssl-redirect"] = "false" } }) }
        assert.is_nil(off.contributions["web/a"][1].rules[1].settings)
        local forced = compile { make("a", { annotations = { ["force-ssl-redirect"] = "true" } }) }
        assert.equal("always", forced.contributions["web/a"][1].rules[1].settings.ssl_redirect)
    end)

    it("of two Ingresses is that of the older", function()
        local result = compile { make("b", { tls = { { hosts = { "shop.example.com" },
            secretName = "other" } }, paths = { path("/b") }, created = "2026-03-01T00:00:00Z" }),
            make("a", { tls = TLS }) }
        assert.same({ "web/cert" }, result.contributions["web/a"][2].certificates)
        assert.match("the certificate of shop.example.com comes from the Secret web/cert",
            messages(result)[1], 1, true)
    end)
end)

describe("a canary", function()
    local function canary(annotations, more)
        annotations.canary = "true"
        return make("canary", { annotations = annotations, created = "2025-01-01T00:00:00Z",
            paths = (more or {}).paths or { path("/", nil, "next") } })
    end

    it("shares a path by weight", function()
        local _, rules = table_of(compile { make("a", {}), canary { ["canary-weight"] = "30" } },
            "shop.example.com")
        assert.equal(1, #rules)
        assert.same({ 70, 30, "web/next:80" }, { rules[1].backends[1].weight,
            rules[1].backends[2].weight, rules[1].backends[2].service })
    end)

    it("has a header, a value and a cookie", function()
        local _, rules = table_of(compile { make("a", {}), canary { ["canary-by-header"] = "X-New",
            ["canary-by-header-value"] = "yes", ["canary-by-header-pattern"] = "y.*",
            ["canary-by-cookie"] = "new", ["canary-weight-total"] = "1000" } }, "shop.example.com")
        assert.same({ header = "X-New", value = "yes", cookie = "new", sticky = true },
            rules[1].backends[2].canary)
        assert.same({ 1000, 0 }, { rules[1].backends[1].weight, rules[1].backends[2].weight })
    end)

    it("of no path gets no requests, and neither does a second one", function()
        local result = compile { make("a", {}),
            canary({}, { paths = { path("/x", nil, "next") } }) }
        assert.match("which no other Ingress has", messages(result)[1])
        result = compile { make("a", {}), canary({}, { paths = { path("/",
            "ImplementationSpecific", "next") } }) }
        assert.match("which no other Ingress has", messages(result)[1])
        local second = canary { ["canary-weight"] = "10" }
        second.metadata.name = "third"
        result = compile { make("a", {}), canary { ["canary-weight"] = "30" }, second }
        assert.match("is the second canary of / of shop.example.com", messages(result)[1])
        assert.equal(2, #result.contributions["web/a"][1].rules[1].backends)
    end)
end)

describe("further hosts of an Ingress", function()
    it("are its aliases, unless another Ingress has them", function()
        local result = compile { make("a", { annotations = {
            ["server-alias"] = "b.example.com, c.example.com,~^x" } }),
            make("c", { host = "c.example.com", paths = { path("/", nil, "c") } }) }
        assert.same({ "prefix / -> web/shop:80" }, (table_of(result, "b.example.com")))
        assert.same({ "prefix / -> web/c:80" }, (table_of(result, "c.example.com")))
        assert.equal(2, #result.problems)
    end)

    it("are redirects from or to www", function()
        local result = compile { make("a", { annotations = {
            ["from-to-www-redirect"] = "true" } }) }
        local _, rules = table_of(result, "www.shop.example.com")
        assert.same({ { type = "redirect", host = "shop.example.com", status = 308 } },
            rules[1].filters)
    end)
end)

describe("a change of Ingresses", function()
    it("names those whose contributions differ", function()
        local a, b, c = make("a", {}), make("b", { host = "b.example.com" }),
            make("c", { host = "c.example.com" })
        local before = compile({ a, b, c }).contributions
        assert.same({}, ingress.changes(before, compile({ b, a, c }).contributions))
        local changed = make("b", { host = "b.example.com", paths = { path("/x") } })
        assert.same({ "web/b", "web/c" },
            ingress.changes(before, compile({ a, changed }).contributions))
    end)

    it("makes a status of addresses", function()
        assert.same({ loadBalancer = { ingress = { { ip = "10.0.0.1" }, { ip = "2001:db8::1" },
            { hostname = "lb.example.com" } } } },
            ingress.status { "10.0.0.1", "2001:db8::1", "lb.example.com" })
        assert.same({ loadBalancer = {} }, ingress.status {})
    end)
end)
