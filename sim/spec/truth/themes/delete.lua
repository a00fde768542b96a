-- DELETE: what it answers, options, preconditions, finalizers, grace, collections, propagation.
local objects = require "objects"

local configmap, pod = objects.configmap, objects.pod
local MAPS = "/api/v1/namespaces/{ns}/configmaps"
local PODS = "/api/v1/namespaces/{ns}/pods"
local FINAL = { metadata = { finalizers = { "example.com/a" } } }

local requests = {}
local function ask(request)
    requests[#requests + 1] = request
end
local function options(more)
    more.apiVersion, more.kind = "v1", "DeleteOptions"
    return more
end
-- Made, then deleted in this way.
local function delete(sentence, query, body, extra)
    local name = "m" .. #requests
    ask {
        "made to be deleted: " .. sentence, "POST " .. MAPS, configmap(name, FINAL),
        only = "status", save = { rv = "metadata.resourceVersion", uid = "metadata.uid" },
    }
    ask { sentence, "DELETE " .. MAPS .. "/" .. name .. (query or ""), body, type = extra }
    ask { "after: " .. sentence, "GET " .. MAPS .. "/" .. name }
end

ask { "made", "POST " .. MAPS, configmap("plain") }
ask { "deleted", "DELETE " .. MAPS .. "/plain" }
ask { "deleted again", "DELETE " .. MAPS .. "/plain" }
ask { "what never was", "DELETE " .. MAPS .. "/never" }
ask { "of a resource that is not there", "DELETE /api/v1/namespaces/{ns}/nothings/a" }
ask {
    "made with a finalizer", "POST " .. MAPS, configmap("final", FINAL),
    save = { rv = "metadata.resourceVersion" },
}
ask { "it stays, with a time", "DELETE " .. MAPS .. "/final" }
ask { "deleted once more", "DELETE " .. MAPS .. "/final" }
ask {
    "a finalizer more", "PATCH " .. MAPS .. "/final",
    { metadata = { finalizers = { "example.com/a", "example.com/b" } } },
}
ask { "a change of it", "PATCH " .. MAPS .. "/final", { data = { a = "1" } } }
ask {
    "the finalizer taken away", "PATCH " .. MAPS .. "/final", [[{"metadata":{"finalizers":null}}]],
}
ask { "now it is gone", "GET " .. MAPS .. "/final" }
ask {
    "the events of all that",
    "WATCH " .. MAPS .. "?watch=true&timeoutSeconds=1&fieldSelector=metadata.name=final&reso"
        .. "urceVersion={rv}",
    events = 3,
}

delete("with an empty body", "", "")
delete("with options", "", options { gracePeriodSeconds = 0 })
delete("with an empty object", "", {})
delete("with rubbish", "", "{")
delete("with another kind", "", configmap("x"))
delete("with options of a group", "", { apiVersion = "apps/v1", kind = "DeleteOptions" })
delete("with an unknown option", "", options { nothing = 1 })
delete("with a wrong type", "", options { gracePeriodSeconds = "x" })
delete("with a negative grace", "", options { gracePeriodSeconds = -1 })
delete("with its uid", "", options { preconditions = { uid = "{uid}" } })
delete("with another uid", "", options { preconditions = { uid = "other" } })
delete("with its version", "", options { preconditions = { resourceVersion = "{rv}" } })
delete("with another version", "", options { preconditions = { resourceVersion = "1" } })
delete("in the background", "?propagationPolicy=Background")
delete("in the foreground", "?propagationPolicy=Foreground")
delete("leaving orphans", "?propagationPolicy=Orphan")
delete("with a policy that is none", "?propagationPolicy=Nonsense")
delete("with an old option", "", options { orphanDependents = true })
delete("with both", "", options { orphanDependents = true, propagationPolicy = "Orphan" })
delete("a dry run", "?dryRun=All")
delete("a dry run that is none", "?dryRun=x")
delete("a dry run in its body", "", options { dryRun = { "All" } })
delete("a grace that is none", "?gracePeriodSeconds=x")
delete("a media type that nobody reads", "", "x", "text/plain")

ask { "a pod", "POST " .. PODS, pod("bound", { spec = { nodeName = "node-1" } }) }
ask {
    "a pod on a node has its grace", "DELETE " .. PODS .. "/bound",
    save = { rv = "metadata.resourceVersion" },
}
ask { "and stays", "GET " .. PODS .. "/bound" }
ask { "deleted with a shorter grace", "DELETE " .. PODS .. "/bound?gracePeriodSeconds=5" }
ask { "deleted with a longer grace", "DELETE " .. PODS .. "/bound?gracePeriodSeconds=50" }
ask { "deleted at once", "DELETE " .. PODS .. "/bound?gracePeriodSeconds=0" }
ask { "then it is gone", "GET " .. PODS .. "/bound" }
ask { "a pod that is on no node", "POST " .. PODS, pod("free") }
ask { "goes at once", "DELETE " .. PODS .. "/free" }
ask {
    "a pod with its own grace", "POST " .. PODS,
    pod("grace", { spec = { nodeName = "node-1", terminationGracePeriodSeconds = 7 } }),
}
ask { "has that", "DELETE " .. PODS .. "/grace" }
ask { "a pod that is done", "POST " .. PODS, pod("done", { spec = { nodeName = "node-1" } }) }
ask { "it succeeds", "PATCH " .. PODS .. "/done/status", { status = { phase = "Succeeded" } } }
ask { "and goes at once", "DELETE " .. PODS .. "/done" }

for _, name in ipairs { "c1", "c2", "c3" } do
    ask {
        "made: " .. name, "POST " .. MAPS,
        configmap(name, { metadata = { labels = { set = name == "c3" and "y" or "x" } } }),
    }
end
ask {
    "a collection by labels, as a dry run", "DELETE " .. MAPS .. "?labelSelector=set=x&dryRun=All",
}
ask { "a collection by labels", "DELETE " .. MAPS .. "?labelSelector=set=x" }
ask { "what is left of them", "GET " .. MAPS .. "?labelSelector=set" }
ask { "a collection of nothing", "DELETE " .. MAPS .. "?labelSelector=set=none" }
ask { "a collection by name", "DELETE " .. MAPS .. "?fieldSelector=metadata.name=c3" }
ask { "a collection with rubbish", "DELETE " .. MAPS .. "?labelSelector=set=none", "{" }
ask {
    "a collection with a selector that is none", "DELETE " .. MAPS .. "?labelSelector=a%20b",
    only = "status",
}
ask {
    "a collection with a precondition", "DELETE " .. MAPS .. "?labelSelector=set=none",
    options { preconditions = { uid = "x" } },
}
ask { "all namespaces at once", "DELETE /api/v1/configmaps" }
ask { "namespaces as a collection", "DELETE /api/v1/namespaces" }
ask { "services as a collection", "DELETE /api/v1/namespaces/{ns}/services" }

return requests
