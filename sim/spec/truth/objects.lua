-- Objects for the requests of the themes; {ns} and other names are filled in when they are sent.
local objects = {}

-- `more` on top of `object`, and what both have inside of each other.
local function merge(object, more)
    for key, value in pairs(more or {}) do
        if type(value) == "table" and type(object[key]) == "table" and #value == 0 then
            merge(object[key], value)
        else
            object[key] = value
        end
    end
    return object
end

---Any kind: of("apps/v1", "Deployment", "web", { spec = ... }).
function objects.of(api_version, kind, name, more)
    return merge({ apiVersion = api_version, kind = kind, metadata = { name = name } }, more)
end

function objects.configmap(name, more)
    return objects.of("v1", "ConfigMap", name, more)
end

function objects.container(more)
    return merge({ name = "app", image = "app:1" }, more)
end

function objects.pod(name, more)
    return merge(objects.of("v1", "Pod", name, {
        spec = { containers = { objects.container() } },
    }), more)
end

-- What the workloads have in common: a selector, and pods that it selects.
local function workload(kind, name, more)
    return merge(objects.of("apps/v1", kind, name, {
        spec = {
            selector = { matchLabels = { app = name } },
            template = {
                metadata = { labels = { app = name } },
                spec = { containers = { objects.container() } },
            },
        },
    }), more)
end

function objects.deployment(name, more)
    return workload("Deployment", name, more)
end

function objects.statefulset(name, more)
    return workload("StatefulSet", name, more)
end

function objects.job(name, more)
    return merge(objects.of("batch/v1", "Job", name, {
        spec = {
            template = { spec = { restartPolicy = "Never", containers = { objects.container() } } },
        },
    }), more)
end

function objects.cronjob(name, more)
    return merge(objects.of("batch/v1", "CronJob", name, {
        spec = { schedule = "* * * * *", jobTemplate = { spec = objects.job(name).spec } },
    }), more)
end

return objects
