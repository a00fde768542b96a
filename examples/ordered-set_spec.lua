-- Pods are created one after the other, and deleted in the opposite order.
-- Run it: kubelua test examples/ordered-set_spec.lua
local Sim = require "kubelua.sim"

describe("ordered-set", function()
    local cluster ---@type kubelua.Sim

    before_each(function()
        cluster = assert(Sim.new { load = "examples/ordered-sets.yaml" })
        cluster:run("examples/ordered-set.lua")
    end)

    after_each(function()
        cluster:close()
    end)

    local function pods()
        local names = {}
        for _, pod in ipairs(assert(cluster:list("pods", { namespace = "default" }))) do
            names[#names + 1] = pod.name
        end
        return table.concat(names, " ")
    end

    local function expect_pods(expected)
        assert(cluster:eventually(function() return pods() == expected end), pods())
    end

    local function make_ready(name)
        cluster:patch("pods", "default/" .. name,
            { status = { conditions = { { type = "Ready", status = "True" } } } },
            { subresource = "status" })
    end

    local function bring_up()
        for i, expected in ipairs { "db-0", "db-0 db-1", "db-0 db-1 db-2" } do
            expect_pods(expected)
            make_ready("db-" .. i - 1)
        end
        assert(cluster:wait("orderedsets", "default/db", { status = { readyReplicas = 3 } }))
    end

    it("creates each pod once the pod before it is ready", function()
        bring_up()
    end)

    it("creates a missing pod again, with the same name", function()
        bring_up()
        local uid = cluster:get("pods", "default/db-1").uid
        cluster:delete("pods", "default/db-1", { grace = 0 })
        assert(cluster:wait("pods", "default/db-1", function(pod)
            return pod and pod.uid ~= uid
        end))
    end)

    it("deletes the last pod first", function()
        bring_up()
        cluster:clear_requests()
        cluster:patch("orderedsets", "default/db", { spec = { replicas = 1 } })
        expect_pods("db-0")
        assert(cluster:asked {
            { verb = "delete", name = "db-2" }, { verb = "delete", name = "db-1" },
        })
        assert(cluster:wait("orderedsets", "default/db", { status = { readyReplicas = 1 } }))
    end)
end)
