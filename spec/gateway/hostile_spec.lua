-- What a tenant who means harm may not do to others: by Ingresses, and by patterns.
local ingress = require "resty.kubelua.gateway.ingress"
local rules = require "resty.kubelua.gateway.rules"

local NGINX = "nginx.ingress.kubernetes.io/"

local function path(text, name)
    return { path = text, pathType = "Prefix",
        backend = { service = { name = name or "shop", port = { number = 80 } } } }
end

-- An Ingress NAMESPACE/a of shop.example.com; `more` may have annotations, paths, tls, default.
local function make(namespace, more)
    local annotations = {}
    for key, value in pairs(more.annotations or {}) do
        annotations[NGINX .. key] = value
    end
    return { metadata = { namespace = namespace, name = "a", annotations = annotations,
            creationTimestamp = more.created or "2026-01-01T00:00:00Z" },
        spec = { ingressClassName = "nginx", tls = more.tls, defaultBackend = more.default,
            rules = more.paths and { { host = "shop.example.com",
                http = { paths = more.paths } } } } }
end

local function compile(list, regex)
    return ingress.compile({ ingresses = list }, { nginx = true, regex = regex })
end

local function first(result)
    return result.contributions["web/a"][1]
end

describe("an Ingress", function()
    it("guards its default backend as its paths", function()
        for value, field in pairs { ["10.0.0.0/8"] = "allow", wrong = "denied" } do
            local list = first(compile { make("web", { paths = { path("/a") },
                default = path("/", "rest").backend,
                annotations = { ["whitelist-source-range"] = value } }) }).rules
            assert.equal("web/rest:80", list[2].backends[1].service)
            assert.truthy(list[1].settings[field], value)
            assert.truthy((list[2].settings or {})[field], value)
        end
    end)

    it("has a hundred aliases at most, which share the rules of its host", function()
        local names = {}
        for i = 1, 5000 do
            names[i] = ("a%d.example.com"):format(i)
        end
        local result = compile { make("web", { paths = { path("/") },
            annotations = { ["server-alias"] = table.concat(names, ",") } }) }
        local list = result.contributions["web/a"]
        assert.equal(202, #list)
        assert.equal(list[1].rules, list[202].rules)
        assert.match("has 5000 names: the first 100", result.problems[1].message, 1, true)
    end)

    it("leaves out a path that PCRE does not take: all requests of the host would fail", function()
        local result = compile({ make("web", { annotations = { ["use-regex"] = "true" },
            paths = { path("/a{2,1}"), path("/b") } }) }, function(pattern)
            return not pattern:find("{2,1}", 1, true) or nil, "numbers out of order"
        end)
        assert.equal(2, #first(result).matches)
        assert.equal("(?is)^/b", first(result).matches[1].path)
        assert.match("the path /a{2,1} is no regular expression: numbers out of order",
            result.problems[1].message, 1, true)
    end)

    it("gives no certificate to a host whose rules are another namespace's", function()
        for _, host in ipairs { "shop.example.com", "*.example.com" } do
            local list = compile { make("web", { paths = { path("/") } }), make("evil", {
                tls = { { hosts = { host }, secretName = "other" } },
                created = "2025-01-01T00:00:00Z" }) }.contributions["web/a"]
            assert.is_nil(list[1].rules[1].settings, host)
            assert.is_nil(list[2].certificates, host)
        end
    end)
end)

describe("patterns that take too long", function()
    it("end the search for a rule", function()
        local host, seconds, searches, step = { rules = { {} }, matches = {} }, 0, 0, 0.003
        for i = 1, 100 do
            host.matches[i] = { kind = "regex", path = "slow" .. i, rule = 1 }
        end
        host.matches[101] = { kind = "prefix", path = "/", rule = 1 }
        local function find(text)
            searches = 0
            local rule, found, failed = rules.find(rules.new(host), { path = text }, function()
                seconds, searches = seconds + step, searches + 1
                return false
            end, function() return seconds end)
            return rule and found.match or found, failed
        end
        local found, failed = find("/" .. ("a"):rep(300))
        assert.equal("regex", found)
        assert.same({ rule = {}, why = "the patterns took too long" }, failed)
        assert.equal(2, searches)
        assert.equal("regex", (find("/a")))
        assert.equal(15, searches) -- the clock is looked at each eight searches of a short text
        step = 0.00001
        assert.equal(host.matches[101], (find("/a")))
    end)
end)
