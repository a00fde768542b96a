-- Rules of routes: matches, filters, backends and what makes a rule invalid.
package.path = "spec/gateway/?.lua;" .. package.path
local objects = require "gateway_objects"

local GATE = objects.gateway("web/gate", { objects.listener("http", 80) })
local SHOP = objects.service("web/shop", { 80, 81 })

-- The HOST and the result of one route with these rules.
local function compile(rules, options, ...)
    local compiler = objects.compiler(options, GATE, SHOP,
        objects.route("web/r", { rules = rules }), ...)
    local result = compiler:run()
    return result.hosts["*:80 * *"] or nil, result
end

local function backend(more)
    local ref = { name = "shop", port = 80 }
    for key, value in pairs(more or {}) do
        ref[key] = value
    end
    return ref
end

describe("a rule's matches", function()
    it("are everything if there are none", function()
        local host = compile { { backendRefs = { backend() } } }
        assert.same({ { path = "/", kind = "prefix", headers = {}, queries = {}, rule = 1 } },
            host.matches)
        assert.same({ { service = "web/shop:80", weight = 1 } }, host.rules[1].backends)
        assert.equal("HTTPRoute web/r 1", host.rules[1].source)
    end)

    it("have header names in lower case, and only the first of equal names", function()
        local host = compile { { matches = { { path = { type = "Exact", value = "/a" },
            method = "GET",
            headers = { { name = "X-One", value = "1" }, { name = "x-one", value = "2" } },
            queryParams = { { name = "Q", value = "a.*", type = "RegularExpression" } } } } } }
        assert.same({ { path = "/a", kind = "exact", method = "GET", rule = 1,
            headers = { { "x-one", "1" } }, queries = { { "Q", "^(?s:a.*)\\z", "regex" } } } },
            host.matches)
    end)

    it("ignore the last slash of a prefix", function()
        local host = compile { { matches = { { path = { value = "/abc/" } } } } }
        assert.equal("/abc", host.matches[1].path)
    end)

    it("have paths as nginx decodes them, but expressions as they are", function()
        local host = compile { { matches = { { path = { type = "Exact", value = "/a%20b%2Fc" } },
            { path = { value = "/%C3%A9/" } },
            { path = { type = "RegularExpression", value = "/%20" } } } } }
        assert.same({ "/a b/c", "/\195\169", "^(?s:/%20)\\z" }, { host.matches[1].path,
            host.matches[3].path, host.matches[2].path })
    end)

    it("with a regular expression that the check refuses drop their rule only", function()
        local host, result = compile({
            { matches = { { path = { type = "RegularExpression", value = "(" } } } },
            { matches = { { path = { value = "/good" } } } },
        }, { regex = function(pattern)
            return pattern ~= "^(?s:()\\z" or nil, "missing )"
        end })
        assert.equal(1, #host.matches)
        assert.equal("HTTPRoute web/r 2", host.rules[1].source)
        assert.equal("Accepted True Accepted",
            objects.of_parent(result, "HTTPRoute web/r", "Accepted"))
        local text, partial = objects.condition(
            objects.status(result, "HTTPRoute web/r").parents[1].conditions, "PartiallyInvalid")
        assert.equal("PartiallyInvalid True UnsupportedValue", text)
        assert.matches("^Dropped Rule 1 .*missing %)", partial.message)
    end)

    it("that PCRE crashes with, or that are none by themselves, are refused", function()
        for text, why in pairs { ["/a)|(?:/b"] = "unmatched )", ["/(?(?C)(?=a)a|b)"] = "a callout",
            ["/" .. ("()"):rep(300)] = "more than 200 groups" } do
            local _, result = compile({ { matches = { { path = { type = "RegularExpression",
                value = text } } } } }, { regex = function(each)
                    return each ~= "/a)|(?:/b" or nil, "unmatched )"
                end })
            local _, accepted = objects.condition(objects.status(result, "HTTPRoute web/r")
                .parents[1].conditions, "Accepted")
            assert.truthy(accepted.message:find(why, 1, true), accepted.message)
        end
    end)

    it("of a dropped rule go to no wider rule: they answer 500", function()
        local host, result = compile({
            { matches = { { path = { value = "/admin" } } }, backendRefs = { backend {} },
                filters = { { type = "Unknown" } } },
            { backendRefs = { backend {} } },
        })
        assert.equal("/admin", host.matches[1].path)
        assert.same({ { status = 500, weight = 1 } }, host.rules[host.matches[1].rule].backends)
        assert.equal("web/shop:80", host.rules[host.matches[2].rule].backends[1].service)
        local text = objects.of_parent(result, "HTTPRoute web/r", "PartiallyInvalid")
        assert.equal("PartiallyInvalid True UnsupportedValue", text)
    end)

    it("of an unknown type refuse a route that has no other rule", function()
        local host, result = compile { { matches = { { path = { type = "Suffix" } } } } }
        assert.is_nil(host)
        assert.equal("Accepted False UnsupportedValue",
            objects.of_parent(result, "HTTPRoute web/r", "Accepted"))
        assert.is_nil(objects.of_parent(result, "HTTPRoute web/r", "PartiallyInvalid"))
        assert.equal(0, objects.of_listener(result, "Gateway web/gate", "http").attachedRoutes)
    end)
end)

describe("the order of matches", function()
    local function order(...)
        local compiler = objects.compiler(nil, GATE, SHOP, ...)
        local list = {}
        local host = compiler:run().hosts["*:80 * *"]
        for i, match in ipairs(host.matches) do
            list[i] = host.rules[match.rule].source:match("web/(%w+ %d+)$") .. " " .. match.path
        end
        return list
    end

    it("is exact, longest prefix, method, headers, parameters", function()
        local function match(kind, value, more)
            more = more or {}
            more.path = { type = kind, value = value }
            return { matches = { more } }
        end
        local header, query = { name = "h", value = "1" }, { name = "q", value = "1" }
        assert.same({ "r 6 /a", "r 2 /long/prefix", "r 4 /a", "r 3 /a", "r 5 /a", "r 1 /a" }, order(
            objects.route("web/r", { rules = {
                match("PathPrefix", "/a"), match("PathPrefix", "/long/prefix"),
                match("PathPrefix", "/a", { headers = { header } }),
                match("PathPrefix", "/a", { method = "GET" }),
                match("PathPrefix", "/a", { queryParams = { query } }), match("Exact", "/a"),
            } })))
    end)

    it("is then the oldest route, its name, and the order in the route", function()
        local rules = { {}, {} }
        assert.same({ "old 1 /", "old 2 /", "a 1 /", "a 2 /", "b 1 /", "b 2 /" }, order(
            objects.route("web/b", { rules = rules }), objects.route("web/a", { rules = rules }),
            objects.route("web/old", { rules = rules },
                { creationTimestamp = "2025-01-01T00:00:00Z" })))
    end)

    it("has regular expressions among prefixes of their length", function()
        local function regex(value)
            return { matches = { { path = { type = "RegularExpression", value = value } } } }
        end
        local prefix = { matches = { { path = { value = "/abc" } } } }
        local exact = { matches = { { path = { type = "Exact", value = "/x" } } } }
        assert.same({ "r 4 /x", "r 3 ^(?s:/a.*b)\\z", "r 2 /abc", "r 1 ^(?s:/a.*)\\z" }, order(
            objects.route("web/r", { rules = { regex("/a.*"), prefix, regex("/a.*b"), exact } })))
    end)
end)

describe("backends", function()
    it("keep the share of one that is not there as 500", function()
        local host, result = compile { { backendRefs = { backend { weight = 3 },
            { name = "gone", port = 80, weight = 2 }, backend { port = 81, weight = 0 } } } }
        assert.same({ { service = "web/shop:80", weight = 3 }, { status = 500, weight = 2 } },
            host.rules[1].backends)
        assert.equal("ResolvedRefs False BackendNotFound",
            objects.of_parent(result, "HTTPRoute web/r", "ResolvedRefs"))
        assert.equal("Accepted True Accepted",
            objects.of_parent(result, "HTTPRoute web/r", "Accepted"))
    end)

    it("that are omitted, empty or have no weight answer 500, with resolved references", function()
        for _, refs in ipairs { { n = 0 }, {}, { backend { weight = 0 } } } do
            local host, result = compile { { backendRefs = refs.n and nil or refs } }
            assert.same({ { status = 500, weight = 1 } }, host.rules[1].backends)
            assert.equal("ResolvedRefs True ResolvedRefs",
                objects.of_parent(result, "HTTPRoute web/r", "ResolvedRefs"))
        end
    end)

    local REASONS = {
        { "InvalidKind", { kind = "Other" } },
        { "InvalidKind", { group = "example.com" } },
        { "BackendNotFound", { port = 99 } },
        { "RefNotPermitted", { namespace = "data", name = "gone" } },
        { "InvalidKind", { name = "outside" } },
    }
    for i, case in ipairs(REASONS) do
        it("are refused with " .. case[1] .. ", case " .. i, function()
            local host, result = compile({ { backendRefs = { backend(case[2]) } } }, nil,
                objects.service("web/outside", { 80 }, { type = "ExternalName" }))
            assert.same({ { status = 500, weight = 1 } }, host.rules[1].backends)
            assert.equal("ResolvedRefs False " .. case[1],
                objects.of_parent(result, "HTTPRoute web/r", "ResolvedRefs"))
        end)
    end

    it("in another namespace need a ReferenceGrant for the kind and name", function()
        local from = { group = "gateway.networking.k8s.io", kind = "HTTPRoute", namespace = "web" }
        local cases = {
            { true, from, { group = "", kind = "Service" } },
            { true, from, { group = "", kind = "Service", name = "db" } },
            { false, from, { group = "", kind = "Service", name = "other" } },
            { false, from, { group = "", kind = "Secret" } },
            { false, { group = from.group, kind = "Gateway", namespace = "web" },
                { group = "", kind = "Service" } },
            { false, { group = from.group, kind = "HTTPRoute", namespace = "others" },
                { group = "", kind = "Service" } },
        }
        for i, case in ipairs(cases) do
            local host = compile({ { backendRefs = { { name = "db", namespace = "data",
                port = 80 } } } }, nil, objects.service("data/db"),
                objects.grant("data/grant", case[2], case[3]))
            assert.equal(case[1] and "data/db:80" or nil, host.rules[1].backends[1].service,
                "case " .. i)
        end
    end)

    it("have the protocol of the port", function()
        local function port(protocol)
            return { port = 80, protocol = "TCP", appProtocol = protocol }
        end
        for protocol, expected in pairs { ["kubernetes.io/h2c"] = "h2c",
            ["kubernetes.io/ws"] = "ws", https = "https", http = "", mysql = "" } do
            local host = compile({ { backendRefs = { { name = "p", port = 80 } } } }, nil,
                objects.service("web/p", { port(protocol) }))
            assert.equal(expected, host.rules[1].backends[1].protocol or "")
        end
    end)

    it("have filters of their own", function()
        local host, result = compile { { backendRefs = { backend { filters = {
            { type = "RequestHeaderModifier", requestHeaderModifier = {
                set = { { name = "X", value = "1" } } } } } } } },
            { backendRefs = { backend { filters = { { type = "CORS", cors = {} } } } } } }
        assert.same({ { type = "request_headers", set = { { "X", "1" } }, add = {}, remove = {} } },
            host.rules[1].backends[1].filters)
        assert.equal("PartiallyInvalid True UnsupportedValue",
            objects.of_parent(result, "HTTPRoute web/r", "PartiallyInvalid"))
    end)
end)

describe("filters", function()
    local function filter(list, more)
        local rule = { filters = list }
        for key, value in pairs(more or {}) do
            rule[key] = value
        end
        local host, result = compile({ rule, {} })
        return host.rules[1].source == "HTTPRoute web/r 1" and host.rules[1] or nil, result
    end

    it("redirect without backends", function()
        local rule = filter { { type = "RequestRedirect", requestRedirect = { scheme = "https",
            hostname = "b.com", port = 8443, statusCode = 301,
            path = { type = "ReplacePrefixMatch", replacePrefixMatch = "/x" } } } }
        assert.same({ { type = "redirect", scheme = "https", host = "b.com", port = 8443,
            status = 301, path = { kind = "prefix", value = "/x" } } }, rule.filters)
        assert.same({}, rule.backends)
    end)

    it("redirect with 302 if no status is said", function()
        local rule = filter { { type = "RequestRedirect", requestRedirect = {} } }
        assert.equal(302, rule.filters[1].status)
    end)

    it("rewrite host and path, mirror and answer CORS", function()
        local rule = filter {
            { type = "URLRewrite", urlRewrite = { hostname = "one.com",
                path = { type = "ReplaceFullPath", replaceFullPath = "/y" } } },
            { type = "RequestMirror", requestMirror = { backendRef = backend(),
                fraction = { numerator = 1, denominator = 4 } } },
            { type = "RequestMirror", requestMirror = { backendRef = backend { port = 81 } } },
            { type = "CORS", cors = { allowOrigins = { "*" }, allowCredentials = true } },
        }
        assert.same({ type = "rewrite", host = "one.com", path = { kind = "full", value = "/y" } },
            rule.filters[1])
        assert.same({ type = "mirror", service = "web/shop:80", percent = 25 }, rule.filters[2])
        assert.same({ type = "mirror", service = "web/shop:81", percent = 100 }, rule.filters[3])
        assert.same({ type = "cors", allow_origins = { "*" }, allow_methods = {},
            allow_headers = {}, expose_headers = {}, max_age = 5, allow_credentials = true,
            dialect = "gateway-api" }, rule.filters[4])
    end)

    it("leave out a mirror whose Service is not there, and say so", function()
        local rule, result = filter { { type = "RequestMirror",
            requestMirror = { backendRef = { name = "gone", port = 1 } } } }
        assert.same({}, rule.filters)
        assert.equal("ResolvedRefs False BackendNotFound",
            objects.of_parent(result, "HTTPRoute web/r", "ResolvedRefs"))
    end)

    local headers = { type = "RequestHeaderModifier", requestHeaderModifier = {} }
    local redirect = { type = "RequestRedirect", requestRedirect = {} }
    local rewrite = { type = "URLRewrite", urlRewrite = { path = {
        type = "ReplacePrefixMatch", replacePrefixMatch = "/" } } }
    local INVALID = {
        ["an unknown type"] = { { { type = "ExternalAuth" } } },
        ["one twice"] = { { headers, headers } },
        ["a redirect and a rewrite"] = { { redirect, rewrite } },
        ["a redirect with backends"] = { { redirect }, { backendRefs = { backend() } } },
        ["a prefix replaced in an exact match"] = { { rewrite },
            { matches = { { path = { type = "Exact", value = "/a" } } } } },
        ["an unknown scheme"] = { { { type = "RequestRedirect",
            requestRedirect = { scheme = "ftp" } } } },
        ["an unknown status"] = { { { type = "RequestRedirect",
            requestRedirect = { statusCode = 305 } } } },
        ["a timeout that is no duration"] = { {}, { timeouts = { request = "10" } } },
        ["a backend's timeout above the request's"] = { {},
            { timeouts = { request = "1s", backendRequest = "2s" } } },
        ["sessions by header"] = { {}, { sessionPersistence = { type = "Header" } } },
    }
    for name, header in pairs { ["the length of a body"] = { "Content-Length", "3" },
        ["how a body is sent"] = { "transfer-encoding", "chunked" },
        ["another line in a Host"] = { "Host", "a\r\nX-Evil: 1" },
        ["another line in a name"] = { "X-A: b\r\nX-Evil", "1" } } do
        for _, kind in ipairs { "Request", "Response" } do
            INVALID[name .. " of a " .. kind] = { { { type = kind .. "HeaderModifier",
                [kind:lower() .. "HeaderModifier"] = { set = {
                    { name = header[1], value = header[2] } } } } } }
        end
    end
    for name, host in pairs { ["another line"] = "a\r\nX-Evil: 1", ["a path"] = "a.com/b",
        ["a blank"] = "a b", ["a text that is empty"] = "" } do
        INVALID[name .. " as the host of a rewrite"] = { { { type = "URLRewrite",
            urlRewrite = { hostname = host } } } }
        INVALID[name .. " as the host of a redirect"] = { { { type = "RequestRedirect",
            requestRedirect = { hostname = host } } }, { backendRefs = {} } }
    end
    INVALID["a length that is removed"] = { { { type = "RequestHeaderModifier",
        requestHeaderModifier = { remove = { "Content-Length" } } } } }
    local MIRROR = { type = "RequestMirror", requestMirror = { backendRef = backend {} } }
    INVALID["a third mirror, for which nginx.conf has no place"] = { { MIRROR, MIRROR, MIRROR } }
    for name, case in pairs(INVALID) do
        it("drop their rule for " .. name .. ": it answers 500", function()
            local rule, result = filter(case[1], case[2])
            assert.same({ { status = 500, weight = 1 } }, rule.backends)
            assert.same({}, rule.filters)
            assert.matches("^PartiallyInvalid True",
                objects.of_parent(result, "HTTPRoute web/r", "PartiallyInvalid"))
        end)
    end

    it("name a script only where scripts are allowed; else their rule answers 500", function()
        local ref = { group = "", kind = "ConfigMap", name = "lua" }
        local rules = { { filters = { { type = "ExtensionRef", extensionRef = ref } },
            backendRefs = { backend() } } }
        local host, result = compile(rules)
        assert.same({ { status = 500, weight = 1 } }, host.rules[1].backends)
        assert.equal("ResolvedRefs False RefNotPermitted",
            objects.of_parent(result, "HTTPRoute web/r", "ResolvedRefs"))
        host = compile(rules, { script = function(namespace, name)
            return namespace .. "/" .. name == "web/lua" or nil
        end })
        assert.same({ { type = "script", configmap = "web/lua" } }, host.rules[1].filters)
        assert.equal("web/shop:80", host.rules[1].backends[1].service)
    end)
end)
