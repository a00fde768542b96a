-- What Jobs, CronJobs and autoscalers refuse.
local core = require "kubelua.core"
local objects = require "objects"

local of, container = objects.of, objects.container
local requests = {}

local function post(sentence, path, object)
    requests[#requests + 1] = { sentence, "POST " .. path, object }
end

local function with(base, more)
    for name, value in pairs(more) do
        base[name] = value
    end
    return base
end

local function template(restart)
    return { spec = { restartPolicy = restart or "Never", containers = { container() } } }
end

local function job(sentence, spec)
    post("job: " .. sentence, "/apis/batch/v1/namespaces/{ns}/jobs?dryRun=All",
        of("batch/v1", "Job", "j", { spec = with({ template = template() }, spec) }))
end

job("a mode that is none", { completionMode = "Sometimes" })
job("indexed without a number", { completionMode = "Indexed" })
job("indexed, too wide", {
    completionMode = "Indexed", completions = 200000, parallelism = 200000,
})
job("negative numbers", {
    parallelism = -1, completions = -1, activeDeadlineSeconds = -1, backoffLimit = -1,
    ttlSecondsAfterFinished = -1,
})
job("limits of indexes, without any", { backoffLimitPerIndex = 1, maxFailedIndexes = 1 })
job("failed indexes without a limit of each", {
    completionMode = "Indexed", completions = 2, maxFailedIndexes = 1,
})
job("more failed indexes than there are", {
    completionMode = "Indexed", completions = 2, backoffLimitPerIndex = 1, maxFailedIndexes = 3,
})
job("a selector of its own, by hand", {
    manualSelector = true, selector = { matchLabels = { a = "b" } },
})
job("a manager that is none", { managedBy = "a b" })
job("a replacement that is none", { podReplacementPolicy = "X" })

local function failure(sentence, ...)
    job("failure: " .. sentence, { podFailurePolicy = { rules = { ... } } })
end
failure("no rules")
failure("an action that is none", {
    action = "X", onExitCodes = { operator = "In", values = { 1 } },
})
failure("nothing to act on", { action = "FailJob" })
failure("two things to act on", {
    action = "FailJob", onExitCodes = { operator = "In", values = { 1 } },
    onPodConditions = { { type = "A", status = "True" } },
})
failure("an operator that is none", {
    action = "Ignore", onExitCodes = { operator = "X", values = { 1 } },
})
failure("no codes", {
    action = "Ignore", onExitCodes = { operator = "In", values = core.array {} },
})
failure("codes", { action = "Ignore", onExitCodes = { operator = "In", values = { 2, 1, 1, 0 } } })
failure("a container that is none", {
    action = "Count", onExitCodes = { operator = "In", values = { 1 }, containerName = "x" },
})
failure("a condition that is none", {
    action = "Count", onPodConditions = { { type = "a b", status = "Maybe" } },
})
failure("an index of none", {
    action = "FailIndex", onExitCodes = { operator = "In", values = { 1 } },
})
job("failure: of pods that start again", {
    template = template("OnFailure"),
    podFailurePolicy = {
        rules = { { action = "FailJob", onExitCodes = { operator = "In", values = { 1 } } } },
    },
})

local function success(sentence, ...)
    job("success: " .. sentence, {
        completionMode = "Indexed", completions = 3, successPolicy = { rules = { ... } },
    })
end
success("no rules")
success("nothing")
success("a rule of nothing", {})
success("some", { succeededIndexes = "0-1,2", succeededCount = 2 })
success("indexes that are none", { succeededIndexes = "x" })
success("indexes in no order", { succeededIndexes = "2,1" })
success("indexes beyond", { succeededIndexes = "0-5" })
success("more than there are", { succeededCount = 4 })
success("more than are listed", { succeededIndexes = "0", succeededCount = 2 })
success("none", { succeededCount = 0 })
job("success: of what has no indexes", {
    successPolicy = { rules = { { succeededCount = 1 } } }, completions = 2,
})

local function cron(sentence, spec)
    local made = with({
        schedule = "* * * * *", jobTemplate = { spec = { template = template() } },
    }, spec)
    post("cron job: " .. sentence, "/apis/batch/v1/namespaces/{ns}/cronjobs?dryRun=All",
        of("batch/v1", "CronJob", "c", { spec = made }))
end
cron("no schedule", { schedule = "" })
cron("a schedule of the zone", { schedule = "CRON_TZ=UTC * * * * *" })
cron("a schedule by name", { schedule = "@hourly" })
cron("a schedule by a name that is none", { schedule = "@often" })
cron("every so often", { schedule = "@every 1h" })
cron("too few columns", { schedule = "* * *" })
cron("out of range", { schedule = "61 * * * *" })
cron("a zone", { timeZone = "Europe/Berlin" })
cron("no zone", { timeZone = "" })
cron("a zone of the machine", { timeZone = "Local" })
cron("a zone that is none", { timeZone = "Here/There" })
cron("a zone of blanks", { timeZone = " UTC" })
cron("both zones", { timeZone = "UTC", schedule = "TZ=UTC * * * * *" })
cron("a policy that is none", { concurrencyPolicy = "Maybe" })
cron("negative numbers", {
    startingDeadlineSeconds = -1, successfulJobsHistoryLimit = -1, failedJobsHistoryLimit = -1,
})
cron("pods that never end", { jobTemplate = { spec = { template = template("Always") } } })
cron("a job by hand", {
    jobTemplate = { spec = { template = template(), manualSelector = true } },
})

local function autoscaler(sentence, spec)
    local made = with({
        maxReplicas = 3,
        scaleTargetRef = { apiVersion = "apps/v1", kind = "Deployment", name = "d" },
    }, spec)
    post("autoscaler: " .. sentence,
        "/apis/autoscaling/v2/namespaces/{ns}/horizontalpodautoscalers?dryRun=All",
        of("autoscaling/v2", "HorizontalPodAutoscaler", "h", { spec = made }))
end

local function metric(sentence, one)
    autoscaler("metric: " .. sentence, { metrics = { one } })
end
metric("no type", {})
metric("a type that is none", { type = "X" })
metric("nothing of its type", { type = "Resource" })
metric("of another type", {
    type = "Resource", pods = { metric = { name = "x" }, target = { type = "Value", value = "1" } },
})
metric("two sources", {
    type = "Resource",
    resource = { name = "cpu", target = { type = "Utilization", averageUtilization = 50 } },
    pods = { metric = { name = "x" }, target = { type = "AverageValue", averageValue = "1" } },
})
metric("no name", {
    type = "Resource", resource = { name = "", target = { type = "Utilization" } },
})
metric("no target", { type = "Resource", resource = { name = "cpu" } })
metric("no use", {
    type = "Resource",
    resource = { name = "cpu", target = { type = "Utilization", averageUtilization = 0 } },
})
metric("use and an average", {
    type = "Resource",
    resource = {
        name = "cpu",
        target = { type = "Utilization", averageUtilization = 1, averageValue = "1" },
    },
})
metric("a value of resources", {
    type = "Resource", resource = { name = "cpu", target = { type = "Value", value = "1" } },
})
metric("negative values", {
    type = "Resource",
    resource = { name = "cpu", target = { type = "AverageValue", averageValue = "-1" } },
})
metric("of a container without a name", {
    type = "ContainerResource",
    containerResource = {
        name = "cpu", container = "", target = { type = "Utilization", averageUtilization = 1 },
    },
})
metric("of pods, not averaged", {
    type = "Pods", pods = { metric = { name = "a/b" }, target = { type = "Value", value = "1" } },
})
metric("of an object", {
    type = "Object",
    object = {
        describedObject = { kind = "", name = "" }, metric = { name = "" },
        target = { type = "Value" },
    },
})
metric("of elsewhere", {
    type = "External",
    external = {
        metric = {
            name = "x", selector = { matchExpressions = { { key = "a", operator = "Is" } } },
        },
        target = { type = "Value", value = "1", averageValue = "1" },
    },
})
autoscaler("to nothing", { minReplicas = 0 })

local function behavior(sentence, rules)
    autoscaler("behavior: " .. sentence, { behavior = { scaleUp = rules } })
end
behavior("a window that is none", { stabilizationWindowSeconds = 3601 })
behavior("a selection that is none", { selectPolicy = "X" })
behavior("a policy that is none", { policies = { { type = "X", value = 0, periodSeconds = 0 } } })
behavior("a period that is long", {
    policies = { { type = "Pods", value = 1, periodSeconds = 1801 } },
})

return requests
