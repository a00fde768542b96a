-- GRPCRoutes: their matches, and where they can be attached.
package.path = "spec/gateway/?.lua;" .. package.path
local objects = require "gateway_objects"

local GATE = objects.gateway("web/gate", { objects.listener("http", 80) })
local SHOP = objects.service("web/shop", { 80, 81 })

describe("a GRPCRoute", function()
    local function grpc(match)
        local compiler = objects.compiler(nil, GATE, SHOP, objects.grpc_route("web/g", { rules = {
            { matches = match and { match }, backendRefs = { { name = "shop", port = 80 } } } } }))
        local result = compiler:run()
        return result.hosts["*:80 * *"], result
    end

    it("matches service and method as elements of the path", function()
        local cases = {
            { "exact", "/a.B/C", { method = { service = "a.B", method = "C" } } },
            { "prefix", "/a.B", { method = { service = "a.B" } } },
            { "regex", "^(?s:/[^/]+/C)\\z", { method = { method = "C" } } },
            { "regex", "^(?s:/(?:a.*)/(?:[^/]+))\\z",
                { method = { type = "RegularExpression", service = "a.*" } } },
            { "prefix", "/", nil },
        }
        for _, case in ipairs(cases) do
            local match = grpc(case[3]).matches[1]
            assert.same({ case[1], case[2] }, { match.kind, match.path })
        end
    end)

    it("speaks gRPC to its backends", function()
        local rule = grpc().rules[1]
        assert.is_true(rule.grpc)
        assert.same({ { service = "web/shop:80", weight = 1, protocol = "grpc" } }, rule.backends)
        assert.equal("GRPCRoute web/g 1", rule.source)
    end)

    it("is refused a host that an older HTTPRoute has, and takes it when that goes", function()
        local older = objects.route("web/h", { hostnames = { "*.a.com" }, rules = { {} } },
            { creationTimestamp = "2025-01-01T00:00:00Z" })
        local compiler = objects.compiler(nil, GATE, SHOP, older,
            objects.grpc_route("web/g", { hostnames = { "x.a.com" }, rules = { {} } }),
            objects.grpc_route("web/free", { hostnames = { "b.com" }, rules = { {} } }))
        local result = compiler:run()
        assert.equal("Accepted False HostnameConflict",
            objects.of_parent(result, "GRPCRoute web/g", "Accepted"))
        assert.equal("Accepted True Accepted",
            objects.of_parent(result, "GRPCRoute web/free", "Accepted"))
        assert.same({ "*:80 * *.a.com", "*:80 * b.com" }, objects.keys(result.hosts))
        compiler:delete("HTTPRoute", older)
        result = compiler:run()
        assert.equal("Accepted True Accepted",
            objects.of_parent(result, "GRPCRoute web/g", "Accepted"))
        assert.is_false(result.hosts["*:80 * *.a.com"])
        assert.is_table(result.hosts["*:80 * x.a.com"])
    end)

    it("says which nginx it needs on HTTP", function()
        local result = objects.compiler({ h2c = false }, GATE, SHOP,
            objects.grpc_route("web/g", { rules = { {} } })):run()
        local parent
        for _, written in ipairs(result.statuses) do
            parent = written.kind == "GRPCRoute" and written.status.parents[1] or parent
        end
        assert.match("no listener allows a GRPCRoute of the namespace web; on HTTP it needs nginx "
            .. "1.25.1", parent.conditions[1].message, 1, true)
    end)
end)
