-- Many events become one write.
-- Run it: kubelua test examples/pod-summary_spec.lua
local Sim = require "kubelua.sim"

describe("pod-summary", function()
    local cluster ---@type kubelua.Sim

    before_each(function()
        cluster = assert(Sim.new { load = "examples/cluster.yaml" })
        cluster:run("examples/pod-summary.lua")
    end)

    after_each(function()
        cluster:close()
    end)

    local function expect_summary(data)
        assert(cluster:wait("configmaps", "default/pods", { data = data }))
    end

    it("counts the pods of each phase", function()
        expect_summary { Running = "2", Pending = "1" }
    end)

    it("writes once for many changes at once", function()
        expect_summary { Running = "2", Pending = "1" }
        cluster:clear_requests()
        for _, name in ipairs { "shop-1", "shop-2", "db-0" } do
            cluster:patch("pods", "web/" .. name, { status = { phase = "Failed" } },
                { subresource = "status" })
        end
        expect_summary { Failed = "3" }
        assert.equal(1, #cluster:requests { verb = "patch", resource = "configmaps" })
    end)

    it("removes phases that no pod is in any more", function()
        expect_summary { Running = "2", Pending = "1" }
        cluster:delete("pods", "web/db-0", { grace = 0 })
        expect_summary { Running = "2", Pending = require("kubelua").null }
    end)
end)
