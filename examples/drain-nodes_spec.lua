-- Drains a node as far as the budgets allow, and makes it usable again.
-- Run it: kubelua test examples/drain-nodes_spec.lua
local Sim = require "kubelua.sim"

describe("drain-nodes", function()
    local cluster ---@type kubelua.Sim

    before_each(function()
        cluster = assert(Sim.new { clock = "fake", load = "examples/cluster.yaml" })
        cluster:run("examples/drain-nodes.lua")
    end)

    after_each(function()
        cluster:close()
    end)

    local function label(value)
        cluster:patch("nodes", "node-1",
            { metadata = { labels = { ["example.com/drain"] = value } } })
    end

    local function expect_drained(value)
        return assert(cluster:wait("nodes", "node-1", { metadata = {
            annotations = { ["example.com/drained"] = value } } }))
    end

    -- Does what the kubelet of the node does once a pod is evicted: deletes it.
    local function expect_evicted(key)
        assert(cluster:wait("pods", key, function(pod)
            return pod and pod.metadata.deletionTimestamp ~= nil
        end))
        assert(cluster:delete("pods", key, { grace = 0 }))
    end

    local function expect_empty()
        expect_evicted("web/shop-1")
        expect_evicted("web/db-0")
        return expect_drained("yes")
    end

    it("evicts what is on the node, and nothing else", function()
        label("")
        expect_empty()
        assert.is_true(expect_drained("yes").spec.unschedulable)
        assert.is_nil(cluster:get("pods", "web/shop-2").metadata.deletionTimestamp)
        assert.is_nil(cluster:get("nodes", "node-2").spec.unschedulable)
    end)

    it("leaves pods of DaemonSets", function()
        local labels, containers = { app = "agent" }, { { name = "agent", image = "agent:1" } }
        local owner = assert(cluster:create { apiVersion = "apps/v1", kind = "DaemonSet",
            metadata = { name = "agent", namespace = "web" },
            spec = { selector = { matchLabels = labels },
                template = { metadata = { labels = labels },
                    spec = { containers = containers } } } })
        assert(cluster:create { apiVersion = "v1", kind = "Pod",
            metadata = { name = "agent", namespace = "web", ownerReferences = { {
                apiVersion = "apps/v1", kind = "DaemonSet", name = "agent", uid = owner.uid,
                controller = true } } },
            spec = { nodeName = "node-1", containers = containers } })
        label("")
        expect_empty()
        assert.is_nil(cluster:get("pods", "web/agent").metadata.deletionTimestamp)
    end)

    it("waits while a budget forbids it, and tells why", function()
        cluster:create { apiVersion = "policy/v1", kind = "PodDisruptionBudget",
            metadata = { name = "shop", namespace = "web" },
            spec = { minAvailable = 2, selector = { matchLabels = { app = "shop" } } } }
        label("")
        expect_evicted("web/db-0")
        assert(cluster:eventually(function()
            return #cluster:list("events", { fields = "reason=NotEvicted" }) == 1
        end))
        expect_drained("no")
        assert.is_nil(cluster:get("pods", "web/shop-1").metadata.deletionTimestamp)
        cluster:delete("poddisruptionbudgets", "web/shop")
        assert(cluster:eventually(function()
            cluster:advance(1)
            return cluster:get("pods", "web/shop-1").metadata.deletionTimestamp
        end))
        expect_evicted("web/shop-1")
        expect_drained("yes")
    end)

    it("lets the node be used again", function()
        label("")
        expect_empty()
        label(require("kubelua").null)
        assert(cluster:wait("nodes", "node-1", function(node)
            return not node.spec.unschedulable and not node.metadata.annotations
        end))
    end)
end)
