-- Three faults of the discovery in APISIX: its published algorithm shows them here, on the
-- simulator. KubeLua has none of them in the same situations: see faults_spec.lua.
local discovery = require "published_discovery"
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"
local slices = require "slices"

describe("The published algorithm of APISIX", function()
    local cluster, theirs

    before_each(function()
        cluster = assert(Sim.new { no_controllers = true })
        for _, name in ipairs { "a", "b", "c" } do
            assert(cluster:load(slices.slice("web", name, name .. "-1", { "10.0.0.1" }, 80)))
        end
        theirs = discovery.new(assert(cluster:connect()), 2)
    end)

    after_each(function()
        theirs.client:close()
        cluster:close()
    end)

    it("takes a list whose second page failed as complete: drops live services", function()
        assert.is_true(theirs:relist())
        local resolve = theirs:worker()
        assert.equal("10.0.0.1", resolve("web/c"))
        cluster:fault { action = "fail", status = 500, verb = "list", resource =
            "endpointslices.discovery.k8s.io", page = 2, count = 0 }
        assert.is_true(theirs:relist())
        assert.equal("10.0.0.1", resolve("web/a"))
        assert.is_nil(resolve("web/c"))
    end)

    it("keeps old nodes under the new version for ever, if resolved between both writes", function()
        theirs:relist()
        local resolve = theirs:worker()
        theirs.on_write = function(key)
            if key == "web/a#version" then
                resolve("web/a")
            end
        end
        theirs:change(kubelua.decode(slices.slice("web", "a", "a-1", { "10.0.0.2" }, 80)))
        theirs.on_write = nil
        assert.equal("10.0.0.2", theirs.dictionary["web/a"])
        assert.equal("10.0.0.1", resolve("web/a"))
        theirs:relist() -- a relist does not help, because the version is right
        assert.equal("10.0.0.1", resolve("web/a"))
    end)

    it("shows a part of a service while a relist is between two pages", function()
        assert(cluster:load(slices.slice("web", "a", "z-2", { "10.0.0.3" }, 80)))
        theirs:relist()
        local resolve = theirs:worker()
        assert.equal("10.0.0.1 10.0.0.3", resolve("web/a"))
        local shown = {}
        theirs.on_write = function(key)
            if key == "web/b" then
                shown[#shown + 1] = resolve("web/a")
            end
        end
        theirs:relist()
        assert.same({ "10.0.0.1" }, shown)
    end)
end)
