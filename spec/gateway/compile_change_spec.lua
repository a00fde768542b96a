-- Runs after a change: only what depends on it is made anew. Statuses keep what is not ours.
package.path = "spec/gateway/?.lua;" .. package.path
local balance_settings = require "resty.kubelua.gateway.balance.settings"
local objects = require "gateway_objects"

local listener = objects.listener

local function shop_route(name, host, more)
    return objects.route(name, { hostnames = { host },
        rules = { { backendRefs = { { name = "shop", port = 80 } } } } }, more)
end

describe("a second run", function()
    local compiler, gate, one

    before_each(function()
        gate, one = objects.gateway("web/gate", { listener("http", 80) }),
            shop_route("web/one", "one.com")
        compiler = objects.compiler(nil, gate, one, shop_route("web/two", "two.com"),
            objects.service("web/shop"))
        local result = compiler:run()
        for _, object in ipairs { gate, one } do
            object.status = objects.status(result, object.kind .. " web/" .. object.metadata.name)
        end
    end)

    it("without a change gives nothing", function()
        assert.same({ entries = {}, hosts = {}, certificates = {}, statuses = {}, problems = {} },
            compiler:run())
    end)

    it("gives only the host of the route that changed", function()
        compiler:set("HTTPRoute", objects.next(one, { spec = { parentRefs = { { name = "gate" } },
            hostnames = { "new.com" }, rules = { {} } } }))
        local result = compiler:run()
        assert.same({ "*:80 * new.com", "*:80 * one.com" }, objects.keys(result.hosts))
        assert.is_false(result.hosts["*:80 * one.com"])
        assert.same({}, result.entries)
        assert.equal(1, #result.statuses)
        assert.equal(2, result.statuses[1].status.parents[1].conditions[1].observedGeneration)
    end)

    it("follows a Service that goes and comes back", function()
        compiler:delete("Service", objects.service("web/shop"))
        local result = compiler:run()
        assert.same({ "*:80 * one.com", "*:80 * two.com" }, objects.keys(result.hosts))
        assert.same({ { status = 500, weight = 1 } },
            result.hosts["*:80 * one.com"].rules[1].backends)
        assert.equal("ResolvedRefs False BackendNotFound",
            objects.of_parent(result, "HTTPRoute web/one", "ResolvedRefs"))
        compiler:set("Service", objects.service("web/shop"))
        result = compiler:run()
        assert.equal("web/shop:80", result.hosts["*:80 * one.com"].rules[1].backends[1].service)
    end)

    it("sees a change of an object that has no generation", function()
        local changed = objects.next(one, { spec = { hostnames = { "new.com" }, rules = { {} },
            parentRefs = { { name = "gate" } } } })
        changed.metadata.generation, one.metadata.generation = nil, nil
        compiler:set("HTTPRoute", changed)
        assert.is_table(compiler:run().hosts["*:80 * new.com"])
    end)

    it("does not look at routes when a Service changes in what they do not read", function()
        local service = objects.service("web/shop")
        service.metadata.labels, service.spec.selector = { a = "b" }, { x = "y" }
        compiler:set("Service", service)
        assert.same({}, compiler:run().hosts)
    end)

    it("gives no hosts and no status when only a status was written", function()
        local written = objects.next(one)
        written.metadata.generation = 1
        compiler:set("HTTPRoute", written)
        local same = objects.next(gate)
        same.metadata.generation = 1
        compiler:set("Gateway", same)
        local result = compiler:run()
        assert.same({}, result.hosts)
        assert.same({}, result.statuses)
    end)

    it("asks again for a status that another client has changed", function()
        local changed = objects.next(one, { status = { parents = {} } })
        changed.metadata.generation = 1
        compiler:set("HTTPRoute", changed)
        assert.equal("Accepted True Accepted",
            objects.of_parent(compiler:run(), "HTTPRoute web/one", "Accepted"))
    end)

    it("asks again for a status that could not be written", function()
        one.status = nil
        compiler:touch("HTTPRoute", "web", "one")
        assert.is_table(objects.status(compiler:run(), "HTTPRoute web/one"))
    end)

    it("removes a route that was deleted, and counts it no more", function()
        compiler:delete("HTTPRoute", one)
        local result = compiler:run()
        assert.same({ ["*:80 * one.com"] = false }, result.hosts)
        assert.equal(1, objects.of_listener(result, "Gateway web/gate", "http").attachedRoutes)
    end)

    it("attaches routes anew when a listener comes", function()
        compiler:set("Gateway", objects.next(gate, { spec = { gatewayClassName = "kubelua",
            listeners = { listener("http", 80), listener("more", 8080) } } }))
        local result = compiler:run()
        assert.is_table(result.hosts["*:8080 * one.com"])
        assert.equal(2, objects.of_listener(result, "Gateway web/gate", "more").attachedRoutes)
        assert.same({ "*:8080" }, objects.keys(result.entries))
    end)

    it("tells what is wrong with a Service's annotations, until it is right or gone", function()
        compiler = objects.compiler({ balance = balance_settings.read })
        local service = objects.service("web/shop", { 80 })
        service.metadata.annotations = { ["kubelua.dev/balance"] = "fastest" }
        compiler:set("Service", service)
        local problems = compiler:run().problems
        assert.same({ "Service", "web", "shop", "Annotation" }, { problems[1].kind,
            problems[1].namespace, problems[1].name, problems[1].reason })
        assert.match("^annotation kubelua.dev/balance: \"fastest\" is not one of",
            problems[1].message)
        service = objects.next(service)
        service.metadata.annotations = { ["kubelua.dev/balance"] = "ewma" }
        compiler:set("Service", service)
        assert.same({ {}, {} }, { compiler:run().problems, compiler:problems() })
        service = objects.next(service)
        service.metadata.annotations = { ["kubelua.dev/retries"] = "many" }
        compiler:set("Service", service)
        assert.equal(1, #compiler:run().problems)
        compiler:delete("Service", service)
        compiler:run()
        assert.same({}, compiler:problems())
    end)

    it("gives a problem once, and it stands until it is over", function()
        local broken = objects.next(one, { spec = { parentRefs = { { name = "gate" } },
            rules = { { backendRefs = { { name = "gone", port = 1 } } } } } })
        compiler:set("HTTPRoute", broken)
        local problems = compiler:run().problems
        assert.same({ { kind = "HTTPRoute", namespace = "web", name = "one",
            reason = "BackendNotFound", message = "there is no Service web/gone" } }, problems)
        compiler:touch("HTTPRoute", "web", "one")
        assert.same({}, compiler:run().problems)
        assert.same(problems, compiler:problems())
        compiler:set("Service", objects.service("web/gone", { 1 }))
        compiler:run()
        assert.same({}, compiler:problems())
    end)
end)

describe("a status", function()
    local conditions = require "resty.kubelua.gateway.compile.conditions"

    it("keeps the time while a condition stays, and conditions of others", function()
        local present = { { type = "theirs", status = "True" },
            { type = "A", status = "True", lastTransitionTime = "old", observedGeneration = 1 },
            { type = "B", status = "True", lastTransitionTime = "old", observedGeneration = 1 },
            { type = "Gone", status = "True", lastTransitionTime = "old" } }
        local merged = conditions.merge(present, { conditions.new("B", false, "R"),
            conditions.new("A", true, "S"), conditions.new("C", true, "C") }, 2, "new",
            { Gone = true })
        local list = {}
        for i, item in ipairs(merged) do
            list[i] = ("%s %s %s %s"):format(item.type, item.status, item.lastTransitionTime or "",
                item.observedGeneration or "")
        end
        assert.same({ "theirs True  ", "A True old 2", "B False new 2", "C True new 2" }, list)
    end)

    it("does not overwrite a condition of a newer generation", function()
        local present = { { type = "A", status = "True", observedGeneration = 5 } }
        assert.same(present, conditions.merge(present, { conditions.new("A", false, "R") }, 4, "n"))
    end)

    it("keeps parents of other controllers as they are, and drops ours that are gone", function()
        local theirs = { parentRef = { name = "gate" }, controllerName = "example.com/other",
            conditions = { { type = "Accepted", status = "Unknown" } } }
        local route = shop_route("web/r", "a.com")
        route.status = { parents = { theirs, { parentRef = { name = "old" },
            controllerName = "kubelua.dev/gateway", conditions = {} }, { parentRef = {
            group = "gateway.networking.k8s.io", kind = "Gateway", name = "gate" },
            controllerName = "kubelua.dev/gateway", conditions = { { type = "Accepted",
            status = "True", lastTransitionTime = "2020-01-01T00:00:00Z" } } } } }
        local compiler = objects.compiler(nil, objects.gateway("web/gate", { listener("a", 80) }),
            route)
        local parents = objects.status(compiler:run(), "HTTPRoute web/r").parents
        assert.equal(2, #parents)
        assert.equal(theirs, parents[1])
        assert.equal("2020-01-01T00:00:00Z", parents[2].conditions[1].lastTransitionTime)
    end)
end)

describe("a contribution", function()
    local function ingress(name, host, more)
        local item = { entry = "*:80", listener = "*", host = host,
            rules = { { source = "Ingress web/" .. name .. " 1", backends = {} } },
            matches = { { path = "/", kind = "prefix", rule = 1 } },
            origin = { kind = "Ingress", namespace = "web", name = name,
                created = "2026-01-01T00:00:00Z" } }
        for key, value in pairs(more or {}) do
            item[key] = value
        end
        return item
    end

    it("is merged with routes, the oldest first, and goes again", function()
        local compiler = objects.compiler(nil, objects.gateway("web/gate", { listener("a", 80) }),
            shop_route("web/r", "a.com"), objects.service("web/shop"))
        local tls = ingress("i", "a.com", { entry = "*:443", tls = true,
            certificates = { "web/cert" } })
        compiler:contribute("Ingress", "web", "i", { ingress("i", "a.com",
            { matches = { { path = "/longer", kind = "prefix", rule = 1 } } }), tls })
        local result = compiler:run()
        local host = result.hosts["*:80 * a.com"]
        assert.same({ "/longer", "/" }, { host.matches[1].path, host.matches[2].path })
        assert.equal("Ingress web/i 1", host.rules[host.matches[1].rule].source)
        assert.same({ ["*"] = { tls = true } }, result.entries["*:443"].listeners)
        assert.same({ "web/cert" }, result.certificates["*:443 a.com"])
        compiler:contribute("Ingress", "web", "i", nil)
        result = compiler:run()
        assert.equal(1, #result.hosts["*:80 * a.com"].matches)
        assert.is_false(result.hosts["*:443 * a.com"])
        assert.is_false(result.entries["*:443"])
        assert.is_false(result.certificates["*:443 a.com"])
        assert.is_nil(result.entries["*:80"])
    end)

    it("over the limit is a problem of its object", function()
        local compiler = objects.compiler { matches = 1 }
        compiler:contribute("Ingress", "web", "a", { ingress("a", "a.com") })
        compiler:contribute("Ingress", "web", "b", { ingress("b", "a.com") })
        local result = compiler:run()
        assert.equal(1, #result.hosts["*:80 * a.com"].matches)
        assert.same({ "Ingress", "b", "LimitExceeded" }, { result.problems[1].kind,
            result.problems[1].name, result.problems[1].reason })
    end)
end)

describe("a BackendTLSPolicy", function()
    local function policy(name, service, section)
        return objects.next({ kind = "BackendTLSPolicy", metadata = { namespace = "web",
            name = name, uid = name, generation = 0 }, spec = {
            targetRefs = { { group = "", kind = "Service", name = service,
                sectionName = section } },
            validation = { hostname = "shop.local", wellKnownCACertificates = "System" } } })
    end

    local function compile(...)
        local compiler = objects.compiler(nil, objects.gateway("web/gate", { listener("a", 80) }),
            shop_route("web/r", "a.com"), objects.service("web/shop"), ...)
        local function first_backend(result)
            return result.hosts["*:80 * a.com"].rules[1].backends[1]
        end
        return compiler, compiler:run(), first_backend
    end

    local function accepted(result, name)
        local ancestor = objects.status(result, "BackendTLSPolicy web/" .. name).ancestors[1]
        return (objects.condition(ancestor.conditions, "Accepted")), ancestor.ancestorRef
    end

    it("is not accepted, and its backend invalid until it is deleted", function()
        local compiler, result, first_backend = compile(policy("p", "shop"))
        assert.same({ status = 500, weight = 1 }, first_backend(result))
        local condition, gateway = accepted(result, "p")
        assert.equal("Accepted False Unsupported", condition)
        assert.same({ group = "gateway.networking.k8s.io", kind = "Gateway", namespace = "web",
            name = "gate" }, gateway)
        local parent = objects.status(result, "HTTPRoute web/r").parents[1]
        local resolved, condition_of_route = objects.condition(parent.conditions, "ResolvedRefs")
        assert.equal("ResolvedRefs False InvalidBackendTLSPolicy", resolved)
        assert.matches("the BackendTLSPolicy web/p: nginx cannot check a backend",
            condition_of_route.message)
        compiler:delete("BackendTLSPolicy", policy("p", "shop"))
        assert.equal("web/shop:80", first_backend(compiler:run()).service)
    end)

    it("of another port of the Service leaves the backend", function()
        local _, result, first_backend = compile(policy("p", "shop", "metrics"))
        assert.equal("web/shop:80", first_backend(result).service)
        assert.equal("Accepted False Unsupported", (accepted(result, "p")))
    end)

    it("names the Gateway of a route that comes later", function()
        local compiler, result = compile(objects.service("web/other"), policy("p", "other"))
        assert.is_nil(objects.status(result, "BackendTLSPolicy web/p"))
        compiler:set("HTTPRoute", objects.route("web/late", { rules = { { backendRefs = {
            { name = "other", port = 80 } } } } }))
        local _, gateway = accepted(compiler:run(), "p")
        assert.equal("gate", gateway.name)
    end)
end)
