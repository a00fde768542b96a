-- How to test a script: a cluster in this process, the unchanged script, and what it did.
-- Run it: kubelua test examples/label-pods_spec.lua
local Sim = require "kubelua.sim"

describe("label-pods", function()
    local cluster ---@type kubelua.Sim

    before_each(function()
        cluster = assert(Sim.new { load = "examples/cluster.yaml" })
        cluster:run("examples/label-pods.lua")
    end)

    after_each(function()
        cluster:close()
    end)

    local function expect_team(team)
        assert(cluster:wait("pods", "web/shop-1", function(pod)
            return pod.metadata.labels.team == team
        end))
    end

    it("labels existing pods, with one request each", function()
        expect_team("nobody")
        assert.equal(1, #cluster:requests { verb = "patch", name = "shop-1" })
    end)

    it("follows a change of the namespace's label", function()
        expect_team("nobody")
        cluster:patch("namespaces", "web", { metadata = { labels = { team = "shop" } } })
        expect_team("shop")
    end)

    it("misses no change while the connection is down", function()
        expect_team("nobody")
        cluster:refuse()
        cluster:patch("namespaces", "web", { metadata = { labels = { team = "shop" } } })
        cluster:compact()
        cluster:refuse(false)
        expect_team("shop")
    end)

    it("retries a patch that was refused with 503", function()
        cluster:fail { verb = "patch", status = 503, count = 3 }
        expect_team("nobody")
        assert.equal(3, #cluster:requests { verb = "patch", status = 503 })
    end)
end)
