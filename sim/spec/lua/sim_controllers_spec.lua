-- The controllers of a simulated cluster, as a user of the cluster sees them.
local kubelua = require "kubelua"
local controllers = require "kubelua.sim.controllers"
local Sim = require "kubelua.sim"

local QUICK = { start_seconds = 0.01, stop_seconds = 0.01, job_seconds = 0.02 }

local function template(image, labels)
    return { metadata = { labels = labels }, spec = { containers = { { name = "main",
        image = image, ports = { { name = "http", containerPort = 8080 } } } } } }
end

local function deployment(image, replicas, strategy)
    return { apiVersion = "apps/v1", kind = "Deployment",
        metadata = { name = "shop", namespace = "default" },
        spec = { replicas = replicas, strategy = strategy,
            selector = { matchLabels = { app = "shop" } },
            template = template(image, { app = "shop" }) } }
end

describe("the controllers of a simulated cluster", function()
    local cluster, client, life

    before_each(function()
        cluster = assert(Sim.new())
        client = assert(cluster:connect())
        life = assert(controllers.start(client, QUICK))
    end)

    after_each(function()
        life.stop()
        client:close()
        cluster:close()
    end)

    -- As kubectl rollout status decides.
    local function is_rolled_out(found)
        local status, wanted = found and found.status, found and found:get("spec.replicas")
        return status and status.observedGeneration == found.metadata.generation
            and status.updatedReplicas == wanted and status.replicas == wanted
            and status.availableReplicas == wanted
    end

    local function roll_out()
        return assert(cluster:wait("deployments", "default/shop", is_rolled_out, 30))
    end

    local function conditions(object)
        local found = {}
        for _, condition in kubelua.ipairs(object:get("status.conditions") or {}) do
            found[condition.type] = condition.status
        end
        return found
    end

    it("make the nodes ready, and renew their leases", function()
        assert.equal(2, #assert(cluster:list("nodes")))
        assert(cluster:wait("nodes", "node-1", function(node)
            return conditions(node).Ready == "True"
        end))
        assert(cluster:wait("leases", "kube-node-lease/node-1"))
    end)

    it("make a node ready that is created later", function()
        assert(cluster:apply { apiVersion = "v1", kind = "Node", metadata = { name = "late" } })
        assert(cluster:wait("nodes", "late", function(node)
            return conditions(node).Ready == "True"
        end))
    end)

    it("give a pod a node and an address, and run it", function()
        assert(cluster:create { apiVersion = "v1", kind = "Pod", metadata = { name = "one" },
            spec = template("a:1").spec })
        local pod = assert(cluster:wait("pods", "one", function(pod)
            return pod:get("status.phase") == "Running"
        end))
        assert.truthy(pod.spec.nodeName:find("^node%-[12]$"))
        assert.truthy(pod.status.podIP:find("^10%.244%.[12]%.%d+$"))
        assert.equal("True", conditions(pod).Ready)
        assert.is_true(pod.status.containerStatuses[1].ready)
        assert.is_string(pod.status.containerStatuses[1].state.running.startedAt)
    end)

    it("leave a pod unscheduled if no node suits it", function()
        assert(cluster:create { apiVersion = "v1", kind = "Pod", metadata = { name = "picky" },
            spec = { nodeSelector = { disk = "ssd" },
                containers = template("a:1").spec.containers } })
        kubelua.step(0.05)
        local waiting = assert(cluster:wait("pods", "picky", function(pod)
            return conditions(pod).PodScheduled == "False"
        end))
        assert.is_nil(waiting:get("spec.nodeName"))
        assert(cluster:patch("nodes", "node-2", { metadata = { labels = { disk = "ssd" } } }))
        assert.equal("node-2", assert(cluster:wait("pods", "picky", function(pod)
            return pod:get("spec.nodeName")
        end)).spec.nodeName)
    end)

    it("stop a pod that is deleted", function()
        assert(cluster:create { apiVersion = "v1", kind = "Pod", metadata = { name = "one" },
            spec = template("a:1").spec })
        assert(cluster:wait("pods", "one", function(pod)
            return pod:get("status.phase") == "Running"
        end))
        assert(cluster:delete("pods", "one"))
        assert(cluster:wait("pods", "one", function(pod) return not pod end))
    end)

    it("roll a Deployment out, over to another image, and down", function()
        assert(cluster:create(deployment("a:1", 3)))
        local first = roll_out()
        assert.equal("True", conditions(first).Available)
        assert.equal("1", first.metadata.annotations["deployment.kubernetes.io/revision"])
        assert(cluster:patch("deployments", "default/shop", { spec = {
            template = template("a:2", { app = "shop" }) } }))
        local second = roll_out()
        assert.equal("2", second.metadata.annotations["deployment.kubernetes.io/revision"])
        local function are_all(image, count)
            local pods = cluster:list("pods")
            for _, pod in ipairs(pods) do
                if pod.spec.containers[1].image ~= image then
                    return false
                end
            end
            return #pods == count
        end
        assert(cluster:eventually(function() return are_all("a:2", 3) end))
        assert.equal(2, #cluster:list("replicasets"))
        assert(cluster:patch("deployments", "default/shop", { spec = { replicas = 1 } }))
        roll_out()
        assert(cluster:eventually(function() return are_all("a:2", 1) end))
    end)

    it("write no observedGeneration into conditions that do not have it", function()
        assert(cluster:create(deployment("a:1", 1)))
        roll_out()
        local written = 0
        for _, request in ipairs(cluster:requests { verb = "patch", resource = "deployments",
            subresource = "status" }) do
            for _, condition in ipairs(request.body.status.conditions or {}) do
                written = written + 1
                assert.is_nil(condition.observedGeneration)
            end
        end
        assert.is_true(written > 0)
    end)

    it("never go below what a Deployment needs", function()
        assert(cluster:create(deployment("a:1", 3)))
        roll_out()
        local least, most = 3, 3
        local pods = assert(client:informer { "pods" })
        local function count()
            local ready, all = 0, 0
            for _, pod in ipairs(pods:list { labels = "app=shop" }) do
                if not pod:get("metadata.deletionTimestamp") then
                    all = all + 1
                    ready = ready + (conditions(pod).Ready == "True" and 1 or 0)
                end
            end
            least, most = math.min(least, ready), math.max(most, all)
        end
        pods:on { update = count, delete = count }
        assert(cluster:patch("deployments", "default/shop", { spec = {
            template = template("a:2", { app = "shop" }) } }))
        roll_out()
        assert.is_true(least >= 3, "only " .. least .. " pods were ready")
        assert.is_true(most <= 4, most .. " pods")
    end)

    it("run a Job's pods until enough have succeeded", function()
        assert(cluster:create { apiVersion = "batch/v1", kind = "Job",
            metadata = { name = "once", namespace = "default" },
            spec = { completions = 3, parallelism = 2, template = { spec = {
                restartPolicy = "Never", containers = { { name = "c", image = "i" } } } } } })
        local job = assert(cluster:wait("jobs", "default/once", function(job)
            return job:get("status.completionTime")
        end, 30))
        assert.equal(3, job.status.succeeded)
        assert.equal("True", conditions(job).Complete)
        assert.equal(3, #cluster:list("pods"))
    end)

    it("list the pods of a Service in an EndpointSlice", function()
        assert(cluster:create { apiVersion = "v1", kind = "Service",
            metadata = { name = "shop", namespace = "default" },
            spec = { selector = { app = "shop" },
                ports = { { port = 80, targetPort = "http" } } } })
        assert(cluster:create(deployment("a:1", 2)))
        local slice = assert(cluster:wait("endpointslices", "default/shop", function(slice)
            local endpoints = slice and slice.endpoints
            return endpoints and #endpoints == 2 and endpoints[1].conditions.ready
                and endpoints[2].conditions.ready
        end))
        assert.equal(8080, slice.ports[1].port)
    end)
end)
