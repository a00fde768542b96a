-- The smallest object of each kind of what runs pods.
local kind_requests = require "kind_requests"
local objects = require "objects"

local of, container = objects.of, objects.container
local RUN_ONCE = { template = { spec = { restartPolicy = "Never", containers = { container() } } } }

return kind_requests {
    { "apps/v1", "deployments", objects.deployment("a") },
    { "apps/v1", "replicasets", objects.workload("ReplicaSet", "a") },
    { "apps/v1", "statefulsets", objects.workload("StatefulSet", "a") },
    {
        "apps/v1", "controllerrevisions",
        of("apps/v1", "ControllerRevision", "a", { revision = 1, data = { a = 1 } }),
    },
    { "batch/v1", "jobs", of("batch/v1", "Job", "a", { spec = RUN_ONCE }) },
    {
        "batch/v1", "cronjobs",
        of("batch/v1", "CronJob", "a", {
            spec = { schedule = "* * * * *", jobTemplate = { spec = RUN_ONCE } },
        }),
    },
}
