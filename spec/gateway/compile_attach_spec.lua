-- Which listeners a route is attached to, under which hosts, and what its parents' conditions say.
package.path = "spec/gateway/?.lua;" .. package.path
local objects = require "gateway_objects"

local listener = objects.listener

local function namespace(name, labels)
    return { kind = "Namespace", metadata = { name = name, labels = labels } }
end

describe("hostnames of a listener and a route", function()
    local hostnames = require "resty.kubelua.gateway.compile.hostnames"

    local CASES = {
        -- listener, route, what they have in common
        { "very.specific.com", "very.specific.com", "very.specific.com" },
        { "very.specific.com", "*.specific.com", "very.specific.com" },
        { "*.wildcard.io", "foo.wildcard.io", "foo.wildcard.io" },
        { "*.wildcard.io", "foo.bar.wildcard.io", "foo.bar.wildcard.io" },
        { "*.wildcard.io", "*.wildcard.io", "*.wildcard.io" },
        { "*.wildcard.io", "*.bar.wildcard.io", "*.bar.wildcard.io" },
        { "*.bar.wildcard.io", "*.wildcard.io", "*.bar.wildcard.io" },
        { "*.wildcard.io", "wildcard.io", nil },
        { "*.wildcard.io", "foo.notwildcard.io", nil },
        { "very.specific.com", "specific.com", nil },
        { "very.specific.com", "*.very.specific.com", nil },
        { "*", "a.com", "a.com" }, { "a.com", "*", "a.com" },
    }
    for _, case in ipairs(CASES) do
        it(("have in common: %s, %s"):format(case[1], case[2]), function()
            assert.equal(case[3], hostnames.intersect(case[1], case[2]))
        end)
    end

    it("leave out those that do not fit, and take the listener's if the route has none", function()
        assert.same({ "a.x.io" }, hostnames.common("*.x.io", { "a.x.io", "b.com", "A.x.io" }))
        assert.same({ "*.x.io" }, hostnames.common("*.x.io", {}))
    end)
end)

describe("a route", function()
    it("is on each listener that allows it, under the hosts in common", function()
        local compiler = objects.compiler(nil, objects.gateway("web/gate", {
            listener("exact", 80, { hostname = "a.x.io" }),
            listener("wild", 80, { hostname = "*.x.io" }),
            listener("other", 80, { hostname = "*.y.io" }), listener("all", 8080),
        }), objects.route("web/r", { hostnames = { "a.x.io", "b.x.io" }, rules = { {} } }))
        local result = compiler:run()
        assert.same({ "*:80 *.x.io a.x.io", "*:80 *.x.io b.x.io", "*:80 a.x.io a.x.io",
            "*:8080 * a.x.io", "*:8080 * b.x.io" }, objects.keys(result.hosts))
        assert.same({ id = "*:80", listeners = { ["a.x.io"] = { tls = false },
            ["*.x.io"] = { tls = false }, ["*.y.io"] = { tls = false } } },
            result.entries["*:80"])
        assert.equal(1, objects.of_listener(result, "Gateway web/gate", "all").attachedRoutes)
        assert.equal(0, objects.of_listener(result, "Gateway web/gate", "other").attachedRoutes)
    end)

    local REASONS = {
        { "Accepted True Accepted", { sectionName = "one" } },
        { "Accepted True Accepted", { port = 81 } },
        { "Accepted True Accepted", { sectionName = "two", port = 81 } },
        { "Accepted False NoMatchingParent", { sectionName = "none" } },
        { "Accepted False NoMatchingParent", { port = 99 } },
        { "Accepted False NoMatchingParent", { sectionName = "one", port = 81 } },
        { "Accepted False NotAllowedByListeners", { sectionName = "grpc" } },
        { "Accepted False NoMatchingListenerHostname", { sectionName = "host" } },
    }
    for i, case in ipairs(REASONS) do
        it("of its section and port is " .. case[1] .. ", case " .. i, function()
            local ref = { name = "gate", sectionName = case[2].sectionName, port = case[2].port }
            local compiler = objects.compiler(nil, objects.gateway("web/gate", {
                listener("one", 80), listener("two", 81), listener("host", 82,
                    { hostname = "z.com" }),
                listener("grpc", 83, { allowedRoutes = { kinds = { { kind = "GRPCRoute" } } } }) }),
                objects.route("web/r", { parentRefs = { ref }, hostnames = { "a.com" },
                    rules = { {} } }))
            local result = compiler:run()
            assert.equal(case[1], objects.of_parent(result, "HTTPRoute web/r", "Accepted"))
            assert.equal("ResolvedRefs True ResolvedRefs",
                objects.of_parent(result, "HTTPRoute web/r", "ResolvedRefs"))
            assert.equal(case[1]:find("True") and 1 or 0, #objects.keys(result.hosts))
        end)
    end

    it("of another namespace needs a listener that allows it", function()
        local selector = { matchLabels = { team = "a" } }
        local cases = {
            { false, nil }, { false, { from = "Same" } }, { true, { from = "All" } },
            { true, { from = "Selector", selector = selector } },
            { false, { from = "Selector", selector = { matchLabels = { team = "b" } } } },
            { false, { from = "Selector" } },
            { true, { from = "Selector", selector = { matchExpressions = {
                { key = "team", operator = "In", values = { "a", "c" } },
                { key = "old", operator = "DoesNotExist" } } } } },
            { false, { from = "Selector", selector = { matchExpressions = {
                { key = "team", operator = "NotIn", values = { "a" } } } } } },
            { false, { from = "Selector", selector = { matchExpressions = {
                { key = "old", operator = "Exists" } } } } },
        }
        for i, case in ipairs(cases) do
            local result = objects.compiler(nil, namespace("other", { team = "a" }),
                objects.gateway("web/gate", { listener("http", 80,
                    { allowedRoutes = { namespaces = case[2] } }) }),
                objects.route("other/r", { parentRefs = { { name = "gate", namespace = "web" } },
                    rules = { {} } })):run()
            assert.equal(case[1] and "Accepted True Accepted"
                or "Accepted False NotAllowedByListeners",
                objects.of_parent(result, "HTTPRoute other/r", "Accepted"), "case " .. i)
        end
    end)

    it("is attached when its namespace gets the label, and detached when it loses it", function()
        local compiler = objects.compiler(nil, namespace("other", {}),
            objects.gateway("web/gate", { listener("http", 80, { allowedRoutes = { namespaces = {
                from = "Selector", selector = { matchLabels = { team = "a" } } } } }) }),
            objects.route("other/r", { parentRefs = { { name = "gate", namespace = "web" } },
                rules = { {} } }))
        assert.same({}, compiler:run().hosts)
        compiler:set("Namespace", namespace("other", { team = "a" }))
        assert.is_table(compiler:run().hosts["*:80 * *"])
        compiler:set("Namespace", namespace("other", { team = "b" }))
        local result = compiler:run()
        assert.is_false(result.hosts["*:80 * *"])
        assert.equal("Accepted False NotAllowedByListeners",
            objects.of_parent(result, "HTTPRoute other/r", "Accepted"))
    end)

    it("has a status for each of its parents, but none for those of others", function()
        local compiler = objects.compiler(nil, objects.gateway("web/gate", { listener("a", 80) }),
            objects.gateway("web/second", { listener("b", 80) }),
            objects.gateway("web/foreign", { listener("c", 80) }, { gatewayClassName = "x" }),
            objects.route("web/r", { rules = { {} }, parentRefs = { { name = "foreign" },
                { name = "second" }, { name = "gate" }, { name = "shop", kind = "Service",
                    group = "" }, { name = "gone" } } }))
        local status = objects.status(compiler:run(), "HTTPRoute web/r")
        assert.same({ { name = "second" }, { name = "gate" } },
            { status.parents[1].parentRef, status.parents[2].parentRef })
        assert.equal(2, #status.parents)
        assert.equal("kubelua.dev/gateway", status.parents[1].controllerName)
    end)

    it("on two Gateways that share an address has its rules there once", function()
        local compiler = objects.compiler(nil, objects.gateway("web/gate", { listener("a", 80) }),
            objects.gateway("web/second", { listener("b", 80) }),
            objects.route("web/r", { rules = { {} },
                parentRefs = { { name = "gate" }, { name = "second" } } }))
        assert.equal(1, #compiler:run().hosts["*:80 * *"].matches)
    end)

    it("goes from its hosts when its Gateway or its class goes, and its status with it", function()
        local gate = objects.gateway("web/gate", { listener("a", 80) })
        local route = objects.route("web/r", { rules = { {} } })
        local compiler = objects.compiler(nil, gate, route)
        route.status = objects.status(compiler:run(), "HTTPRoute web/r")
        for _, gone in ipairs { gate, objects.class() } do
            compiler:delete(gone.kind, gone)
            local result = compiler:run()
            assert.is_false(result.hosts["*:80 * *"])
            assert.is_false(result.entries["*:80"])
            assert.same({}, objects.status(result, "HTTPRoute web/r").parents)
            compiler:set(gone.kind, gone)
            result = compiler:run()
            assert.is_table(result.hosts["*:80 * *"])
            assert.is_nil(objects.status(result, "HTTPRoute web/r"))
            assert.equal(1, objects.of_listener(result, "Gateway web/gate", "a").attachedRoutes)
        end
    end)
end)
