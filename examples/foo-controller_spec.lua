-- One Foo and its Deployment; sim/spec/clients/foo compares with sample-controller.
-- Run it: kubelua test examples/foo-controller_spec.lua
local Sim = require "kubelua.sim"

describe("foo-controller", function()
    local cluster ---@type kubelua.Sim

    before_each(function()
        cluster = assert(Sim.new { load = "examples/foos.yaml" })
        cluster:run("examples/foo-controller.lua")
    end)

    after_each(function()
        cluster:close()
    end)

    local function foo_tells(available)
        assert(cluster:wait("foos", "default/example-foo", function(foo)
            return foo:get("status.availableReplicas") == available
        end))
    end

    it("makes a Deployment, which the Foo controls, and records an event", function()
        local deployment = assert(cluster:wait("deployments", "default/example-foo"))
        local owner = deployment.metadata.ownerReferences[1]
        assert.equal("Foo example-foo", owner.kind .. " " .. owner.name)
        assert.is_true(owner.controller)
        foo_tells(0)
        assert(cluster:eventually(function()
            return #cluster:list("events", { fields = "reason=Synced" }) == 1
        end))
    end)

    it("copies the Deployment's availableReplicas to the Foo's status", function()
        foo_tells(0)
        cluster:patch("deployments", "default/example-foo",
            { status = { replicas = 1, readyReplicas = 1, availableReplicas = 1 } },
            { subresource = "status" })
        foo_tells(1)
    end)

    it("undoes it when another client scales the Deployment", function()
        foo_tells(0)
        cluster:patch("deployments", "default/example-foo", { spec = { replicas = 5 } })
        assert(cluster:wait("deployments", "default/example-foo", function(deployment)
            return deployment.spec.replicas == 1 and deployment.metadata.generation == 3
        end))
    end)

    it("does not take a Deployment that another Foo controls", function()
        foo_tells(0)
        cluster:apply { apiVersion = "samplecontroller.k8s.io/v1alpha1", kind = "Foo",
            metadata = { name = "thief", namespace = "default" },
            spec = { deploymentName = "example-foo", replicas = 9 } }
        assert(cluster:eventually(function()
            return #cluster:list("events", { fields = "reason=ErrResourceExists" }) == 1
        end))
        assert.equal(1, cluster:get("deployments", "default/example-foo").spec.replicas)
    end)
end)
