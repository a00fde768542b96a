-- Limits: of a host, of the shared map, of a route. What is over them costs its owner only.
package.path = "spec/gateway/?.lua;" .. package.path
local objects = require "gateway_objects"

local listener = objects.listener

describe("limits of a host", function()
    local function many(name, count, more)
        local rules = {}
        for i = 1, count do
            rules[i] = { matches = { { path = { value = "/" .. i } } } }
        end
        return objects.route(name, { hostnames = { "a.com" }, rules = rules }, more)
    end

    it("leave out a route of 10,000 rules, whatever its age; the others stay", function()
        local flood = many("bad/flood", 10000, { creationTimestamp = "2020-01-01T00:00:00Z" })
        flood.spec.parentRefs = { { name = "gate", namespace = "web" } }
        local compiler = objects.compiler(nil, objects.gateway("web/gate", { listener("a", 80,
            { allowedRoutes = { namespaces = { from = "All" } } }) }), many("web/good", 10))
        assert.equal(10, #compiler:run().hosts["*:80 * a.com"].matches)
        compiler:set("HTTPRoute", flood)
        local result = compiler:run()
        assert.same({}, result.hosts)
        assert.equal("Accepted False LimitExceeded",
            objects.of_parent(result, "HTTPRoute bad/flood", "Accepted"))
        assert.is_nil(objects.status(result, "HTTPRoute web/good"))
        assert.equal("LimitExceeded", result.problems[1].reason)
        assert.equal("flood", result.problems[1].name)
    end)

    it("of bytes and of matches go to the oldest, and are free again", function()
        for _, limit in ipairs { { matches = 10 }, { bytes = 1500 } } do
            local older = many("web/older", 6)
            local compiler = objects.compiler(limit,
                objects.gateway("web/gate", { listener("a", 80) }), older,
                many("web/newer", 6, { creationTimestamp = "2026-02-01T00:00:00Z" }))
            local result = compiler:run()
            assert.equal(6, #result.hosts["*:80 * a.com"].matches)
            assert.equal("Accepted False LimitExceeded",
                objects.of_parent(result, "HTTPRoute web/newer", "Accepted"))
            compiler:delete("HTTPRoute", older)
            result = compiler:run()
            assert.equal("HTTPRoute web/newer 1", result.hosts["*:80 * a.com"].rules[1].source)
            assert.equal("Accepted True Accepted",
                objects.of_parent(result, "HTTPRoute web/newer", "Accepted"))
        end
    end)
end)

describe("the room of the map", function()
    local function route(namespace, i)
        return objects.route(("%s/r%02d"):format(namespace, i), { rules = { {} },
            hostnames = { ("%s-%d.com"):format(namespace, i) },
            parentRefs = { { name = "gate", namespace = "web" } } },
            { creationTimestamp = ("2026-01-%02dT00:00:00Z"):format(i) })
    end

    local function hosts_of(published, namespace)
        local count = 0
        for key, value in pairs(published) do
            count = count + (value and key:find(" " .. namespace .. "-", 1, true) and 1 or 0)
        end
        return count
    end

    it("is shared among namespaces: one with too many routes keeps its oldest", function()
        local compiler, published = objects.compiler({ room = 6000 }, objects.gateway("web/gate",
            { listener("a", 80, { allowedRoutes = { namespaces = { from = "All" } } }) })), {}
        local function run()
            local result = compiler:run()
            for key, value in pairs(result.hosts) do
                published[key] = value or nil
            end
            return result
        end
        for i = 1, 30 do
            compiler:set("HTTPRoute", route("many", i))
        end
        local result = run()
        local alone = hosts_of(published, "many")
        assert.truthy(alone > 5 and alone < 30, alone)
        assert.is_table(published["*:80 * many-1.com"])
        assert.equal("Accepted True Accepted",
            objects.of_parent(result, "HTTPRoute many/r01", "Accepted"))
        assert.equal("Accepted False LimitExceeded",
            objects.of_parent(result, "HTTPRoute many/r30", "Accepted"))
        for i = 1, 4 do
            compiler:set("HTTPRoute", route("few", i))
        end
        result = run()
        assert.equal(4, hosts_of(published, "few"))
        assert.equal(alone - 4, hosts_of(published, "many"))
        assert.equal("Accepted True Accepted",
            objects.of_parent(result, "HTTPRoute few/r04", "Accepted"))
        for i = 1, 20 do
            compiler:delete("HTTPRoute", route("many", i))
        end
        run()
        assert.equal(10, hosts_of(published, "many"))
        assert.equal(4, hosts_of(published, "few"))
    end)
end)

describe("the regular expressions of all hosts", function()
    local function route(name, count)
        local rules = {}
        for i = 1, count do
            rules[i] = { matches = { { path = { type = "RegularExpression",
                value = "/a" .. i } } } }
        end
        return objects.route(name, { rules = rules, hostnames = { name:gsub("/", "-") .. ".com" },
            parentRefs = { { name = "gate", namespace = "web" } } })
    end

    it("are shared among namespaces, too", function()
        local compiler = objects.compiler({ patterns = 10 }, objects.gateway("web/gate",
            { listener("a", 80, { allowedRoutes = { namespaces = { from = "All" } } }) }),
            route("many/r1", 5), route("many/r2", 5), route("many/r3", 5), route("few/r", 4))
        local result = compiler:run()
        assert.is_table(result.hosts["*:80 * few-r.com"])
        assert.is_table(result.hosts["*:80 * many-r1.com"])
        assert.is_false(result.hosts["*:80 * many-r2.com"])
        assert.equal("Accepted False LimitExceeded",
            objects.of_parent(result, "HTTPRoute many/r2", "Accepted"))
        compiler:delete("HTTPRoute", route("few/r", 4))
        assert.is_table(compiler:run().hosts["*:80 * many-r2.com"])
    end)
end)

describe("the hostnames on a port", function()
    it("are 1,024 of a namespace: its oldest Gateways, and all of another", function()
        local compiler = objects.compiler()
        local function gateway(name, first, day)
            local listeners = {}
            for i = 1, 64 do
                listeners[i] = listener("l" .. i, 80, { hostname = ("h%d.%s"):format(first + i,
                    name:gsub("/.*", ".com")) })
            end
            local object = objects.gateway(name, listeners)
            object.metadata.creationTimestamp = ("2026-01-%02dT00:00:00Z"):format(day)
            compiler:set("Gateway", object)
        end
        for i = 1, 17 do
            gateway("many/g" .. i, i * 64, i)
        end
        gateway("few/g", 0, 20)
        local result, count = compiler:run(), 0
        for name in pairs(result.entries["*:80"].listeners) do
            count = count + 1
            assert.falsy(name:find("^h1[1-9]%d%d%.many"), name)
        end
        assert.equal(1024 + 64, count)
        local text = objects.condition(objects.of_listener(result, "Gateway many/g17", "l1")
            .conditions, "Accepted")
        assert.equal("Accepted False PortUnavailable", text)
    end)
end)

describe("a route with more places than 2,048", function()
    it("is refused; another one is served", function()
        local listeners, names = {}, {}
        for i = 1, 64 do
            listeners[i] = listener("l" .. i, 8000 + i)
        end
        for i = 1, 33 do
            names[i] = "h" .. i .. ".com"
        end
        local result = objects.compiler(nil, objects.gateway("web/gate", listeners),
            objects.route("web/flood", { hostnames = names, rules = { {} } }),
            objects.route("web/good", { hostnames = { "good.com" }, rules = { {} } })):run()
        assert.equal("Accepted False LimitExceeded",
            objects.of_parent(result, "HTTPRoute web/flood", "Accepted"))
        assert.equal("Accepted True Accepted",
            objects.of_parent(result, "HTTPRoute web/good", "Accepted"))
        assert.equal(64, #objects.keys(result.hosts))
    end)
end)
