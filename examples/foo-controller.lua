-- Kubernetes' sample-controller: a Foo gets a Deployment, and its status the available replicas.
-- Try it: kubelua run --sim=examples/foos.yaml examples/foo-controller.lua
local kubelua = require "kubelua"

kubelua.controller {
    "foos.samplecontroller.k8s.io", name = "foo", owns = { "deployments.apps" },
    reconcile = function(foo, run)
        local name, labels = foo.spec.deploymentName, { app = "nginx", controller = foo.name }
        if not name then return false, "it has no spec.deploymentName" end
        local pod = { containers = { { name = "nginx", image = "nginx:latest" } } }
        local deployment, message, code = run:apply {
            apiVersion = "apps/v1", kind = "Deployment", metadata = { name = name },
            spec = { replicas = foo.spec.replicas, selector = { matchLabels = labels },
                template = { metadata = { labels = labels }, spec = pod } },
        }
        if code == "not_owned" then
            run:event("Warning", "ErrResourceExists",
                ('Resource "%s" already exists and is not managed by Foo'):format(name))
        end
        if not deployment then return nil, message, code end
        assert(run:status { availableReplicas = deployment:get("status.availableReplicas") or 0 })
        run:event("Normal", "Synced", "Foo synced successfully")
    end,
}
