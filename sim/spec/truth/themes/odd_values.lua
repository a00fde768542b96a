-- Values that hardly anybody writes: the largest, the emptiest, and those of other centuries.
local objects = require "objects"

local of = objects.of
local requests = {}

local function post(sentence, path, object, more)
    local request = { sentence, "POST " .. path .. "?dryRun=All", object }
    for name, value in pairs(more or {}) do
        request[name] = value
    end
    requests[#requests + 1] = request
end

local function volume(sentence, capacity)
    local object = of("v1", "PersistentVolume", "{run}-v", {
        spec = {
            capacity = capacity, accessModes = { "ReadWriteOnce" }, hostPath = { path = "/a" },
        },
    })
    post("volume: " .. sentence, "/api/v1/persistentvolumes", object)
end
for _, storage in ipairs {
    "1e30", "12e31", "1.50e33", "0.5e40", "1e40000", "1e675673", "1000E", "999999999999999999E",
    "12345678901234567890e30", "123456789012345678901234567890123", "0e50", "\t1", "1\t",
    " 1", "1 Gi", "-0", "1e-400", "+1e3", "1E+3",
} do
    volume("of " .. storage, { storage = storage })
end
volume("of nothing", require("kubelua.core").decode "{}")
volume("of something else", { cpu = "1" })

local function lease(sentence, time)
    local path = "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases"
    post("lease: " .. sentence, path,
        of("coordination.k8s.io/v1", "Lease", "l", { spec = { renewTime = time } }))
end
for _, time in ipairs {
    "0001-01-01T00:00:00.000000Z", "0001-01-01T00:00:00.000001Z", "0172-01-01T00:00:00.000000Z",
    "9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999-01:00",
    "0000-01-01T00:00:00.000000Z", "0000-12-31T23:00:00.000000-01:00",
    "2026-02-29T00:00:00.000000Z",
} do
    lease(time, time)
end

local function autoscaler(sentence, behavior)
    local path = "/apis/autoscaling/v2/namespaces/{ns}/horizontalpodautoscalers"
    post("autoscaler: " .. sentence, path,
        of("autoscaling/v2", "HorizontalPodAutoscaler", "h", {
            spec = {
                scaleTargetRef = { kind = "Deployment", name = "d", apiVersion = "apps/v1" },
                maxReplicas = 3, behavior = behavior,
            },
        }))
end
local empty = require("kubelua").array {}
autoscaler("no policies", { scaleUp = { policies = empty } })
autoscaler("no policies, to shrink", { scaleDown = { policies = empty } })

return requests
