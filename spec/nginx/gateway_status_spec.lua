-- The statuses that the gateway writes, beside another controller that writes them, too.
local gateway_world = require "gateway_world"
local kubelua = require "kubelua"

local INGRESS = [[
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: old, namespace: web}
spec:
  ingressClassName: nginx
  rules:
  - host: old.example.com
    http:
      paths: [{path: /, pathType: Prefix, backend: {service: {name: one, port: {number: 80}}}}]
]]

local function address_of(found)
    return kubelua.get(found or {}, "status.loadBalancer.ingress[1].ip")
end

describe("the gateway's statuses", function()
    local world

    setup(function()
        world = gateway_world.start { load = INGRESS, workers = 1,
            options = "nginx = true, addresses = { \"192.0.2.1\" }" }
    end)

    teardown(function()
        world:close()
    end)

    it("start no war with another controller that writes other addresses", function()
        local mine, theirs = "192.0.2.1", "192.0.2.2"
        local function await_mine()
            assert(world.sim:wait("ingresses", "web/old", function(found)
                return address_of(found) == mine
            end, 10))
        end
        await_mine()
        for _ = 1, 60 do -- answered at once, it goes on for ever
            local object = world.sim:get("ingresses", "web/old"):table()
            object.status = { loadBalancer = { ingress = { { ip = theirs } } } }
            assert(world.sim:update(object, { subresource = "status" }))
            if world.one:count("changes again and again") > 0 then
                break
            end
            await_mine()
        end
        assert.equal(1, world.one:count("changes again and again"), world.one:said())
        assert.equal(theirs, address_of(world.sim:get("ingresses", "web/old")))
        await_mine() -- a second later
    end)
end)
