-- Rolls a Deployment from one image to another, and prints its pods: in a simulated cluster with a
-- scheduler, a kubelet and controllers, which are KubeLua scripts too.
-- Try it: kubelua run examples/rollout.lua
local kubelua = require "kubelua"
local controllers = require "kubelua.sim.controllers"
local Sim = require "kubelua.sim"

local cluster = assert(Sim.new())
local client = assert(cluster:connect())
assert(controllers.start(client, { nodes = 3, start_seconds = 0.2, stop_seconds = 0.2 }))

local function deployment(image)
    return {
        apiVersion = "apps/v1",
        kind = "Deployment",
        metadata = { name = "shop", namespace = "default" },
        spec = {
            replicas = 3,
            selector = { matchLabels = { app = "shop" } },
            template = {
                metadata = { labels = { app = "shop" } },
                spec = { containers = { { name = "shop", image = image } } },
            },
        },
    }
end

local function is_rolled_out(found)
    local status = found.status
    return status and status.observedGeneration == found.metadata.generation
        and status.updatedReplicas == 3 and status.replicas == 3 and status.availableReplicas == 3
end

local function tell(what, pod)
    print(string.format("%-8s %-20s %-10s %-10s %s", what, pod.name, pod.spec.containers[1].image,
        pod:get("status.phase") or "", pod:get("spec.nodeName") or ""))
end

local pods = assert(client:informer { "pods" })
pods:on {
    add = function(pod) tell("add", pod) end,
    update = function(old, pod)
        if pod:get("status.phase") ~= old:get("status.phase") then
            tell("update", pod)
        end
    end,
    delete = function(pod) tell("delete", pod) end,
}

for _, image in ipairs { "shop:1", "shop:2" } do
    print("-- " .. image)
    assert(cluster:apply(deployment(image)))
    assert(cluster:wait("deployments", "default/shop", is_rolled_out, 30))
end
assert(cluster:eventually(function() return pods:count() == 3 end))
print("-- 3 pods of shop:2")
kubelua.stop()
