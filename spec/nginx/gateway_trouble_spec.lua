-- The gateway under load while its routes change, nginx reloads, and its owner is killed: no
-- request may fail.
local gateway_world = require "gateway_world"
local gateway_yaml = require "gateway_yaml"
local traffic = require "nginx_traffic"
local length = require("nginx_world").length

local ROUTE = [[
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop, namespace: web}
spec:
  parentRefs: [{name: main}]
  rules:
  - matches: [{path: {type: PathPrefix, value: /gateway}}]
    backendRefs: [{name: %s, port: 80}]
  - matches: [{path: {type: PathPrefix, value: /%s}}]
    backendRefs: [{name: two, port: 80}]
]]

describe("the gateway under load", function()
    local world

    before_each(function()
        world = gateway_world.start { load = gateway_yaml.GATEWAY .. ROUTE:format("one", "first") }
        world:expect("web/one", "any.example.com", "/gateway")
    end)

    after_each(function()
        world:close()
    end)

    local function flow()
        return traffic.start(world.one, { gateway = "/gateway", static = "/static" })
    end

    it("changes a route without a failed request", function()
        local flowing = flow()
        for i = 1, length(20, 200) do
            local name = i % 2 == 1 and "two" or "one"
            assert(world.sim:load(ROUTE:format(name, "round-" .. i)))
            world:expect("web/two", "any.example.com", "/round-" .. i)
        end
        local tallies = flowing:stop()
        traffic.compare(tallies, "gateway")
        local seen = 0
        for body in pairs(tallies.gateway.body) do
            seen = seen + (body:find("^web/") and 1 or 0)
        end
        assert.equal(2, seen, "both backends were asked: " .. tallies.gateway.line)
    end)

    it("reloads without a failed request", function()
        local flowing = flow()
        for i = 1, length(3, 20) do
            world.one:reload()
            assert(world.sim:load(ROUTE:format("one", "reload-" .. i)))
            world:expect("web/two", "any.example.com", "/reload-" .. i)
        end
        traffic.compare(flowing:stop(), "gateway")
    end)

    it("loses its owner to kill -9 without a failed request, and follows changes again", function()
        local flowing = flow()
        for i = 1, length(3, 20) do
            world.one:signal("KILL", world:owner())
            assert(world.sim:load(ROUTE:format("one", "killed-" .. i)))
            world:expect("web/two", "any.example.com", "/killed-" .. i)
        end
        traffic.compare(flowing:stop(), "gateway")
    end)

    it("serves the routes of the last owner until the next one knows all objects", function()
        local flowing = flow()
        world.sim:delay { resource = "httproutes", before = 0.5 }
        world.one:signal("KILL", world:owner())
        assert(world.sim:load(ROUTE:format("one", "late")))
        world:expect("web/two", "any.example.com", "/late")
        traffic.compare(flowing:stop(), "gateway")
    end)

    it("forgets a route that was deleted while there was no owner", function()
        world.sim:delay { resource = "httproutes", before = 0.5 }
        world.one:signal("KILL", world:owner())
        assert(world.sim:delete("httproutes", "web/shop"))
        world:expect(404, "any.example.com", "/gateway")
    end)
end)
