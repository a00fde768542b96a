-- What the conformance suite of the Gateway API asks of requests by HTTPRoutes (profile
-- GATEWAY-HTTP, core and what is claimed of the rest), with objects and words of our own: for
-- machines without Go. Each case is named after the tests that it stands for.
local cases = require "gateway_cases"
local gateway_world = require "gateway_world"

local GATEWAY = [[
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: kubelua}
spec: {controllerName: kubelua.dev/gateway}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: all, namespace: infra}
spec:
  gatewayClassName: kubelua
  listeners:
  - {name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}
  - {name: exact, port: 80, protocol: HTTP, hostname: very.specific.com}
  - {name: wild, port: 80, protocol: HTTP, hostname: "*.wildcard.io"}
  - {name: deeper, port: 80, protocol: HTTP, hostname: "*.deep.wildcard.io"}
]]

local ROUTE = [[
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %s, namespace: %s}
spec:
  parentRefs: [{name: all, namespace: infra%s}]
  hostnames: [%s]
  rules:
%s]]

-- Routes by "NAMESPACE/NAME HOSTS SECTION": rules.
local function routes(list)
    local texts = { GATEWAY }
    for name, rules in pairs(list) do
        local namespace, own, hosts, section = name:match("^(.-)/(%S+) (%S+) ?(%S*)$")
        texts[#texts + 1] = ROUTE:format(own, namespace,
            section ~= "" and ", sectionName: " .. section or "", hosts, rules)
    end
    return table.concat(texts, "---\n")
end

local TO = "  - backendRefs: [{name: %s, port: 80}]\n"
local ONE, TWO, THREE = TO:format("one"), TO:format("two"), TO:format("three")

-- A rule with matches.
local function rule(matches, service, more)
    return ("  - matches: [%s]\n%s    backendRefs: [{name: %s, port: 80}]\n"):format(matches,
        more and "    " .. more .. "\n" or "", service)
end

local function prefix(path)
    return ("{path: {type: PathPrefix, value: %s}}"):format(path)
end

local function redirect(path, words)
    return ("  - matches: [%s]\n    filters: [{type: RequestRedirect, requestRedirect: {%s}}]\n")
        :format(prefix(path), words)
end

local function rewrite(path, words)
    return rule(prefix(path), "one", "filters: [{type: URLRewrite, urlRewrite: {" .. words
        .. "}}]")
end

local OBJECTS = routes {
    ["infra/simple simple.com"] = ONE,
    ["apps/cross cross.com"] = "  - backendRefs: [{name: far, port: 80}]\n",
    ["infra/exact exact.com"] = rule("{path: {type: Exact, value: /one}}", "one")
        .. rule("{path: {type: Exact, value: /Two}}", "two"),
    ["infra/matching matching.com"] = rule(prefix("/") .. ", {headers: [{name: Version, "
        .. "value: one}]}", "one") .. rule(prefix("/v2") .. ", {headers: [{name: Version, "
        .. "value: two}]}", "two"),
    ["infra/across-a across.com,example.across.com"] = rule(prefix("/") .. ", {headers: "
        .. "[{name: Version, value: one}]}", "one"),
    ["infra/across-b across.com"] = rule(prefix("/v2") .. ", {headers: [{name: Version, "
        .. "value: two}]}", "two"),
    ["infra/headers headers.com"] = rule("{headers: [{name: Version, value: one}]}", "one")
        .. rule("{headers: [{name: Version, value: two}]}", "two")
        .. rule("{headers: [{name: Version, value: two}, {name: Color, value: orange}]}", "one")
        .. rule("{headers: [{name: Color, value: blue}]}, {headers: [{name: Color, "
        .. "value: green}]}", "three"),
    ["infra/methods methods.com"] = rule("{method: POST}", "one") .. rule("{method: GET}", "two")
        .. rule("{path: {type: PathPrefix, value: /path}, method: GET}", "three"),
    ["infra/queries queries.com"] = rule("{queryParams: [{name: animal, value: whale}]}", "one")
        .. rule("{queryParams: [{name: animal, value: dolphin}]}", "two")
        .. rule("{queryParams: [{name: animal, value: dolphin}, {name: color, value: blue}]}",
            "three"),
    ["infra/order order.com"] = rule(prefix("/match"), "three")
        .. rule("{path: {type: Exact, value: /match/exact}}", "one")
        .. rule(prefix("/match/prefix"), "two") .. rule(prefix("/match/prefix/one"), "one")
        .. rule("{path: {type: Exact, value: /match}}", "two"),
    ["infra/weight weight.com"] = "  - backendRefs: [{name: one, port: 80, weight: 7}, "
        .. "{name: two, port: 80, weight: 3}, {name: three, port: 80, weight: 0}]\n",
    ["infra/modify modify.com"] = rule(prefix("/"), "one",
        "filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-Test, "
        .. "value: new}]}}, {type: ResponseHeaderModifier, responseHeaderModifier: {set: "
        .. "[{name: X-Set, value: \"yes\"}], add: [{name: X-Add, value: more}], "
        .. "remove: [X-Old]}}]"),
    ["infra/added added.com"] = rule(prefix("/add"), "one", "filters: [{type: "
        .. "RequestHeaderModifier, requestHeaderModifier: {add: [{name: X-Test, value: b}]}}]")
        .. rule(prefix("/remove"), "one", "filters: [{type: RequestHeaderModifier, "
        .. "requestHeaderModifier: {remove: [X-Test]}}]"),
    ["infra/backend-filter backend.com"] = "  - backendRefs: [{name: one, port: 80, filters: "
        .. "[{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-Test, value: "
        .. "own}]}}, {type: ResponseHeaderModifier, responseHeaderModifier: {add: [{name: X-Own, "
        .. "value: \"yes\"}]}}]}]\n",
    ["infra/redirect redirect.com"] = redirect("/host", "hostname: example.org")
        .. redirect("/status", "hostname: example.org, statusCode: 301")
        .. redirect("/see", "statusCode: 303") .. redirect("/temporary", "statusCode: 307")
        .. redirect("/permanent", "statusCode: 308")
        .. redirect("/prefix", "path: {type: ReplacePrefixMatch, replacePrefixMatch: /new}")
        .. redirect("/full", "path: {type: ReplaceFullPath, replaceFullPath: /other}")
        .. redirect("/port", "port: 8083") .. redirect("/scheme", "scheme: https")
        .. redirect("/both", "scheme: https, port: 8443"),
    ["infra/rewrite rewrite.com"] = rewrite("/prefix", "path: {type: ReplacePrefixMatch, "
        .. "replacePrefixMatch: /new}") .. rewrite("/strip", "path: {type: ReplacePrefixMatch, "
        .. "replacePrefixMatch: /}") .. rewrite("/full", "path: {type: ReplaceFullPath, "
        .. "replaceFullPath: /other}") .. rewrite("/host", "hostname: inner.org"),
    ["infra/time time.com"] = rule(prefix("/none"), "one", "timeouts: {request: 0s}")
        .. rule(prefix("/slow/a"), "one", "timeouts: {request: 500ms}")
        .. rule(prefix("/slow/b"), "one", "timeouts: {backendRequest: 500ms}"),
    ["infra/kind kind.com"] = "  - backendRefs: [{group: \"\", kind: Unknown, name: one, "
        .. "port: 80}]\n",
    ["infra/missing missing.com"] = TO:format("nothing"),
    ["infra/partly partly.com"] = rule(prefix("/v1"), "one") .. rule(prefix("/v2"), "two",
        "name: second") .. rule(prefix("/bad"), "nothing"),
    ["infra/denied denied.com"] = "  - backendRefs: [{name: far, namespace: apps, port: 80}]\n",
    ["infra/section very.specific.com exact"] = ONE,
    ["infra/between non.matching.com,'*.wildcard.io',very.specific.com wild"] = TWO,
    ["infra/wildest deep.wildcard.io wild"] = THREE,
    ["infra/deep '*.deep.wildcard.io' deeper"] = ONE,
}

local GRANT = [[
apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {name: %s, namespace: apps}
spec:
  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: %s}]
  to: [{group: "", kind: Service, name: %s}]
]]

local ONE_V = "-H 'Version: one'"
local TWO_V = "-H 'Version: two'"

local ASKED = {
    { "HTTPRouteSimpleSameNamespace", { "simple.com/", "infra/one" } },
    { "HTTPRouteCrossNamespace", { "cross.com/", "apps/far" } },
    { "HTTPRouteExactPathMatching", { "exact.com/one", "infra/one" }, { "exact.com/Two",
        "infra/two" }, { "exact.com/two", 404 }, { "exact.com/one/", 404 },
        { "exact.com/one/sub", 404 }, { "exact.com/", 404 } },
    { "HTTPRouteMatching", { "matching.com/", "infra/one" }, { "matching.com/example",
        "infra/one" }, { "matching.com/", "infra/one", ONE_V }, { "matching.com/v2",
        "infra/two" }, { "matching.com/v2/example", "infra/two" }, { "matching.com/",
        "infra/two", TWO_V }, { "matching.com/v2/", "infra/two" }, { "matching.com/v2example",
        "infra/one" }, { "matching.com/foo/v2/example", "infra/one" } },
    { "HTTPRouteMatchingAcrossRoutes", { "across.com/", "infra/one" }, { "across.com/v2",
        "infra/two" }, { "across.com/", "infra/two", TWO_V }, { "across.com/v2example",
        "infra/one" }, { "example.across.com/v2", "infra/one" }, { "example.across.com/",
        "infra/one", TWO_V } },
    { "HTTPRouteHeaderMatching", { "headers.com/", "infra/one", ONE_V }, { "headers.com/",
        "infra/two", TWO_V }, { "headers.com/", "infra/one", TWO_V .. " -H 'Color: orange'" },
        { "headers.com/", 404, "-H 'Version: orange'" }, { "headers.com/", "infra/three",
        "-H 'color: blue'" }, { "headers.com/", "infra/three", "-H 'Color: green'" },
        { "headers.com/", 404, "-H 'Color: red'" }, { "headers.com/", 404 } },
    { "HTTPRouteMethodMatching", { "methods.com/", "infra/one", "-X POST" }, { "methods.com/",
        "infra/two" }, { "methods.com/", 404, "-X HEAD --max-time 1 -I" },
        { "methods.com/path", "infra/three" }, { "methods.com/path", "infra/one", "-X POST" },
        { "methods.com/", 404, "-X PUT" } },
    { "HTTPRouteQueryParamMatching", { "queries.com/?animal=whale", "infra/one" },
        { "queries.com/?animal=dolphin", "infra/two" },
        { "queries.com/?animal=dolphin&color=blue", "infra/three" },
        { "queries.com/?color=blue", 404 }, { "queries.com/?animal=dog", 404 },
        { "queries.com/?animal=whaledolphin", 404 }, { "queries.com/", 404 } },
    { "HTTPRoutePathMatchOrder", { "order.com/match/exact", "infra/one" }, { "order.com/match",
        "infra/two" }, { "order.com/match/", "infra/three" }, { "order.com/match/exact/one",
        "infra/three" }, { "order.com/match/prefix/", "infra/two" },
        { "order.com/match/prefix/one", "infra/one" }, { "order.com/match/prefix/oneTwo",
        "infra/two" } },
    { "HTTPRouteRequestHeaderModifier, HTTPRouteResponseHeaderModifier", { "modify.com/",
        { "infra/one", "x=new", "X-Set: yes", "X-Add: more", "-X-Old" }, "-H 'X-Test: old'" },
        { "added.com/add", { "infra/one", "x=a,b" }, "-H 'X-Test: a'" },
        { "added.com/remove", { "infra/one", "x= " }, "-H 'X-Test: a'" } },
    { "HTTPRouteBackendRequestHeaderModification", { "backend.com/", { "infra/one", "x=own",
        "X-Own: yes" } } },
    { "HTTPRouteRedirectHostAndStatus and its status codes", { "redirect.com/host", { 302,
        "Location: http://example.org/host" } }, { "redirect.com/status", { 301,
        "Location: http://example.org/status" } }, { "redirect.com/see", { 303 } },
        { "redirect.com/temporary", { 307 } }, { "redirect.com/permanent", { 308 } } },
    { "HTTPRouteRedirectPath, -Port, -Scheme", { "redirect.com/prefix/a", { 302,
        "Location: http://redirect.com/new/a" } }, { "redirect.com/full/a", { 302,
        "Location: http://redirect.com/other" } }, { "redirect.com/port", { 302,
        "Location: http://redirect.com:8083/port" } }, { "redirect.com/scheme", { 302,
        "Location: https://redirect.com/scheme" } }, { "redirect.com/both", { 302,
        "Location: https://redirect.com:8443/both" } } },
    { "HTTPRouteRewritePath, HTTPRouteRewriteHost", { "rewrite.com/prefix/a?b=c",
        "infra/one GET /new/a?b=c " }, { "rewrite.com/prefix", "infra/one GET /new " },
        { "rewrite.com/strip/a", "infra/one GET /a " }, { "rewrite.com/strip",
        "infra/one GET / " }, { "rewrite.com/full/a?b=c", "infra/one GET /other?b=c " },
        { "rewrite.com/host/a", { "infra/one GET /host/a ", "host=inner.org" } } },
    { "HTTPRouteTimeoutRequest, HTTPRouteTimeoutBackendRequest", { "time.com/none", "infra/one" },
        { "time.com/slow/a", 504 }, { "time.com/slow/b", 504 } },
    { "HTTPRouteInvalidBackendRefUnknownKind", { "kind.com/", 500 } },
    { "HTTPRouteInvalidNonExistentBackendRef", { "missing.com/", 500 } },
    { "HTTPRouteInvalidCrossNamespaceBackendRef", { "denied.com/", 500 } },
    { "HTTPRouteNamedRule, and a rule beside one without a backend", { "partly.com/v1",
        "infra/one" }, { "partly.com/v2", "infra/two" }, { "partly.com/bad", 500 } },
    { "HTTPRouteHostnameIntersection, HTTPRouteListenerHostnameMatching",
        { "very.specific.com/", "infra/one" }, { "non.matching.com/", 404 },
        { "foo.wildcard.io/", "infra/two" }, { "foo.bar.wildcard.io/", "infra/two" },
        { "wildcard.io/", 404 }, { "deep.wildcard.io/", "infra/three" },
        { "a.deep.wildcard.io/", "infra/one" } },
    { "GatewayHTTPListenerIsolation", { "other.specific.com/", 404 },
        { "VERY.specific.com/", "infra/one" } },
}

describe("what the conformance suite asks by HTTP", function()
    local world

    setup(function()
        world = gateway_world.start { load = OBJECTS,
            services = { "infra/one", "infra/two", "infra/three", "apps/far" } }
    end)

    teardown(function()
        world:close()
    end)

    for _, case in ipairs(ASKED) do
        it(case[1], function()
            local list = {}
            for i = 2, #case do
                list[i - 1] = case[i]
            end
            cases.ask(world, list)
        end)
    end

    it("HTTPRouteWeight", function()
        local counts = {}
        for _ = 1, 100 do
            local _, body = world:ask("weight.com", "/")
            local name = body:match("^%S+")
            counts[name] = (counts[name] or 0) + 1
        end
        assert.is_nil(counts["infra/three"])
        assert.is_true(math.abs(counts["infra/one"] - 70) <= 5, counts["infra/one"])
        assert.equal(100, counts["infra/one"] + counts["infra/two"])
    end)

    it("HTTPRouteReferenceGrant, HTTPRouteInvalidReferenceGrant", function()
        local function allow(name, namespace, service)
            assert(world.sim:load(GRANT:format(name, namespace, service)))
        end
        allow("another-namespace", "apps", "far")
        allow("another-service", "infra", "near")
        allow("right", "infra", "far")
        cases.ask(world, { { "denied.com/", "apps/far" } })
        assert(world.sim:delete("referencegrants", "apps/right"))
        cases.ask(world, { { "denied.com/", 500 } })
    end)
end)
