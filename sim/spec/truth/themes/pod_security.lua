-- PodSecurity: what the labels of a namespace may be, and what happens when they change.
local objects = require "objects"
local standards = require "standards"

local of, container = objects.of, standards.container
local requests = {}

local function add(request)
    requests[#requests + 1] = request
end

local function space(name, modes)
    add(standards.space(name, modes))
end

-- ---- namespaces ----

space("baseline", { enforce = "baseline" })
space("warned", { warn = "restricted" })
space("both", { enforce = "baseline", warn = "restricted", ["warn-version"] = "v1.30" })
space("own-warning", { enforce = "restricted", warn = "privileged" })
for i, modes in ipairs {
    { enforce = "strict" }, { warn = "Baseline" }, { audit = "" },
    { enforce = "baseline", ["enforce-version"] = "1.30" }, { ["warn-version"] = "v1.030" },
    { ["audit-version"] = "v2.1" }, { ["enforce-version"] = "v1" },
    { enforce = "x", warn = "y", audit = "z", ["enforce-version"] = "a" },
} do
    space("wrong-" .. i, modes)
end

-- ---- updates ----

add {
    "a pod to be changed", "POST /api/v1/namespaces/{run}-warned/pods",
    of("v1", "Pod", "q", { spec = { containers = { container("a", { privileged = true }) } } }),
}
add {
    "another", "POST /api/v1/namespaces/{run}-warned/pods",
    of("v1", "Pod", "r", { spec = { containers = { container("a", { privileged = true }) } } }),
}
add {
    "a third", "POST /api/v1/namespaces/{run}-warned/pods",
    of("v1", "Pod", "s", { spec = { hostPID = true, containers = { container("a") } } }),
}
local function restrict(sentence, modes)
    add {
        sentence, "PATCH /api/v1/namespaces/{run}-warned",
        { metadata = { labels = standards.labels(modes) } },
    }
end
restrict("a namespace that gets stricter", { enforce = "baseline" })
restrict("the same again", { enforce = "baseline" })
restrict("as of another version", { ["enforce-version"] = "v1.30" })
restrict("stricter still", { enforce = "restricted" })
restrict("less strict", { enforce = "baseline" })
restrict("with a wrong label", { audit = "x" })
local pod_q = "PATCH /api/v1/namespaces/{run}-warned/pods/q"
add { "a pod that is labelled", pod_q, { metadata = { labels = { a = "b" } } } }
add {
    "a pod with another image", pod_q, {
        { op = "replace", path = "/spec/containers/0/image", value = "other" },
    }, type = "application/json-patch+json",
}
add { "its status", pod_q .. "/status", { status = { message = "m" } } }
add {
    "a container beside it", pod_q .. "/ephemeralcontainers", {
        spec = { ephemeralContainers = { { name = "e", image = "i" } } },
    },
}

-- ---- what makes pods ----

local TEMPLATE = {
    metadata = { labels = { a = "b" } },
    spec = { containers = { container("a", { privileged = true }) } },
}
local SELECTOR = { matchLabels = { a = "b" } }
local function maker(name, path, version, kind, spec)
    add {
        "made by " .. kind .. " in " .. name,
        "POST " .. path:format("{run}-" .. name) .. "?dryRun=All",
        of(version, kind, "m", { spec = spec }),
    }
end
local once = { metadata = TEMPLATE.metadata, spec = {
    containers = TEMPLATE.spec.containers, restartPolicy = "Never",
} }
for _, name in ipairs { "both", "baseline", "own-warning" } do
    maker(name, "/apis/apps/v1/namespaces/%s/deployments", "apps/v1", "Deployment",
        { selector = SELECTOR, template = TEMPLATE })
    maker(name, "/apis/apps/v1/namespaces/%s/statefulsets", "apps/v1", "StatefulSet",
        { selector = SELECTOR, template = TEMPLATE, serviceName = "s" })
    maker(name, "/apis/batch/v1/namespaces/%s/jobs", "batch/v1", "Job", { template = once })
    maker(name, "/apis/batch/v1/namespaces/%s/cronjobs", "batch/v1", "CronJob",
        { schedule = "* * * * *", jobTemplate = { spec = { template = once } } })
    maker(name, "/api/v1/namespaces/%s/replicationcontrollers", "v1", "ReplicationController",
        { selector = { a = "b" }, template = TEMPLATE })
end
add {
    "a template", "POST /api/v1/namespaces/{run}-both/podtemplates?dryRun=All",
    of("v1", "PodTemplate", "t", { template = TEMPLATE }),
}
return requests
