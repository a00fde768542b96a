-- Ingresses of ingress-nginx in a real nginx: what its users expect of an annotation.
local gateway_world = require "gateway_world"

describe("an Ingress of ingress-nginx", function()
    local world

    setup(function()
        world = gateway_world.start { options = "nginx = true" }
    end)

    teardown(function()
        world:close()
    end)

    it("leads / to app-root, also where no path of it fits /", function()
        local host = world:ingress("root", { ["app-root"] = "/app" }, { "/app" })
        world:expect("web/one GET /app ", host, "/app")
        local _, head = world:expect(302, host, "/")
        assert.match("Location: http://root%.example%.com/app$", head)
        world:expect(404, host, "/other")
    end)
end)
