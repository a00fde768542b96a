-- Objects that make no sense cost their owner only: rules of the others stay as they are.
package.path = "spec/gateway/?.lua;" .. package.path
local deep_copy = require "deep_copy"
local objects = require "gateway_objects"
local rubbish = require "rubbish"

-- The same numbers in each interpreter.
local function numbers(seed)
    return function(most)
        seed = (seed * 16807) % 2147483647
        return seed % most + 1
    end
end

local GATEWAY = objects.gateway("bad/gate", { objects.listener("a", 80, { hostname = "a.com",
    allowedRoutes = { namespaces = { from = "Selector", selector = { matchLabels = { a = "b" },
    matchExpressions = { { key = "a", operator = "In", values = { "b" } } } } },
    kinds = { { kind = "HTTPRoute" } } } }), objects.listener("b", 443, { protocol = "HTTPS",
    tls = { certificateRefs = { { name = "cert", namespace = "other" } } } }) },
    { addresses = { { type = "IPAddress", value = "10.0.0.1" } }, infrastructure = {},
        tls = { frontend = { default = { validation = {} } } } })

local function route(kind, name)
    return objects[kind](name, { parentRefs = { { name = "gate", namespace = "web" },
        { name = "gate", namespace = "bad", sectionName = "a", port = 80 } },
        hostnames = { "a.com", "*.b.com" }, rules = { { matches = { { method = kind == "route"
        and "GET" or { service = "s", method = "m" }, path = { type = "Exact", value = "/a" },
        headers = { { name = "h", value = "v" } },
        queryParams = { { name = "q", value = "v" } } } },
        filters = { { type = "RequestHeaderModifier", requestHeaderModifier = {
        set = { { name = "x", value = "y" } }, remove = { "z" } } }, { type = "RequestMirror",
        requestMirror = { backendRef = { name = "shop", port = 80 },
        fraction = { numerator = 1 } } } }, timeouts = { request = "1s" },
        retry = { attempts = 1, codes = { 500 } }, sessionPersistence = { cookieConfig = {} },
        backendRefs = { { name = "shop", namespace = "web", port = 80, weight = 1 } } } } })
end

-- The route is older: a GRPCRoute for all hosts takes those of younger HTTPRoutes (Gateway API).
local function good_objects()
    return objects.gateway("web/gate", { objects.listener("http", 8080, { allowedRoutes = {
        namespaces = { from = "All" } } }) }), objects.service("web/shop"),
        objects.route("web/good", { hostnames = { "good.com" }, rules = { { backendRefs = {
            { name = "shop", port = 80 } } } } }, { creationTimestamp = "2025-01-01T00:00:00Z" })
end

describe("2,000 objects of rubbish", function()
    it("leave the rules and the status of others as they are", function()
        local compiler = objects.compiler({ regex = function()
            return true
        end, certificate = function()
            return nil, "broken"
        end }, good_objects())
        local before = compiler:run()
        local host = before.hosts["*:8080 * good.com"]
        assert.equal("Accepted True Accepted",
            objects.of_parent(before, "HTTPRoute web/good", "Accepted"))
        local random = numbers(20261127)
        local kinds = { GATEWAY, route("route", "bad/r"), route("grpc_route", "bad/g") }
        for i = 1, 2000 do
            local object = deep_copy(kinds[i % 3 + 1])
            object.metadata.name, object.metadata.uid = "rubbish-" .. i % 300, "uid " .. i
            for _ = 1, random(3) do
                rubbish.spoil(object.spec, random, 6)
            end
            compiler:set(object.kind, object)
            if i % 100 == 0 then
                local result = compiler:run()
                assert.is_nil(result.hosts["*:8080 * good.com"])
                assert.is_nil(objects.status(result, "HTTPRoute web/good"))
            end
        end
        compiler:set("HTTPRoute", objects.next((select(3, good_objects()))))
        assert.same(host, compiler:run().hosts["*:8080 * good.com"])
    end)
end)
