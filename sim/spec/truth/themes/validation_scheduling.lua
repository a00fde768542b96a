-- Where pods may run: affinity, spread, tolerations, gates; what they refuse.
local objects = require "objects"

local of, container = objects.of, objects.container
local requests = {}

local function pods(sentence, spec)
    spec.containers = { container() }
    requests[#requests + 1] = {
        "pod: " .. sentence, "POST /api/v1/namespaces/{ns}/pods?dryRun=All",
        of("v1", "Pod", "p", { spec = spec }),
    }
end

local REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
local PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
local labels = { matchLabels = { app = "x" } }

local function affinity(sentence, side, term)
    pods(sentence, { affinity = { [side] = { [REQUIRED] = { term } } } })
end

affinity("near others", "podAffinity", { labelSelector = labels, topologyKey = "zone" })
affinity("near others without a key", "podAffinity", { labelSelector = labels })
affinity("far from others without a key", "podAntiAffinity", { labelSelector = labels })
affinity("a key that is none", "podAffinity", { labelSelector = labels, topologyKey = "a b" })
affinity("a namespace that is none", "podAffinity", {
    labelSelector = labels, topologyKey = "zone", namespaces = { "A" },
})
affinity("a selector that is none", "podAntiAffinity", {
    labelSelector = { matchExpressions = { { key = "a", operator = "Is" } } }, topologyKey = "zone",
})
affinity("namespaces that are selected wrongly", "podAffinity", {
    labelSelector = labels, topologyKey = "zone",
    namespaceSelector = { matchExpressions = { { key = "a", operator = "In" } } },
})
affinity("keys without a selector", "podAffinity", {
    topologyKey = "zone", matchLabelKeys = { "a" },
})
affinity("keys", "podAffinity", {
    labelSelector = labels, topologyKey = "zone", matchLabelKeys = { "a" },
})
affinity("a key in both lists", "podAffinity", {
    labelSelector = labels, topologyKey = "zone", matchLabelKeys = { "a" },
    mismatchLabelKeys = { "a" },
})
pods("a weight that is none", {
    affinity = {
        podAffinity = {
            [PREFERRED] = {
                { weight = 0, podAffinityTerm = { labelSelector = labels, topologyKey = "zone" } },
                { weight = 101, podAffinityTerm = { labelSelector = labels } },
            },
        },
    },
})
pods("a node that is preferred by nothing", {
    affinity = {
        nodeAffinity = {
            [PREFERRED] = {
                {
                    weight = 101,
                    preference = { matchExpressions = { { key = "a", operator = "Is" } } },
                },
            },
        },
    },
})
pods("a node by fields", {
    affinity = {
        nodeAffinity = {
            [REQUIRED] = {
                nodeSelectorTerms = {
                    {
                        matchFields = {
                            { key = "metadata.name", operator = "In", values = { "a", "b" } },
                            { key = "spec.x", operator = "In", values = { "a" } },
                            { key = "metadata.name", operator = "Exists" },
                        },
                    },
                },
            },
        },
    },
})
pods("a node by a number", {
    affinity = {
        nodeAffinity = {
            [REQUIRED] = {
                nodeSelectorTerms = {
                    {
                        matchExpressions = {
                            { key = "a", operator = "Gt", values = { "1", "2" } },
                        },
                    },
                },
            },
        },
    },
})

local function spread(sentence, ...)
    pods("spread: " .. sentence, { topologySpreadConstraints = { ... } })
end

local function constraint(more)
    local made = {
        maxSkew = 1, topologyKey = "zone", whenUnsatisfiable = "DoNotSchedule",
        labelSelector = labels,
    }
    for name, value in pairs(more) do
        made[name] = value
    end
    return made
end

spread("as it should be", constraint {})
spread("by nothing", constraint { maxSkew = 0 })
spread("nowhere", constraint { topologyKey = "" })
spread("over what is no key", constraint { topologyKey = "a b" })
spread("or else", constraint { whenUnsatisfiable = "Maybe" })
spread("of nothing", {})
spread("twice", constraint {}, constraint {})
spread("over few", constraint { minDomains = 0 })
spread("over few, anyway", constraint { minDomains = 2, whenUnsatisfiable = "ScheduleAnyway" })
spread("by a policy that is none", constraint { nodeAffinityPolicy = "X", nodeTaintsPolicy = "Y" })
spread("by keys", constraint { matchLabelKeys = { "app", "app", "b" } })
spread("by keys of nothing", {
    maxSkew = 1, topologyKey = "zone", whenUnsatisfiable = "DoNotSchedule",
    matchLabelKeys = { "a" },
})
spread("of a selector that is none", constraint {
    labelSelector = { matchExpressions = { { key = "a", operator = "Is" } } },
})

local function tolerates(sentence, toleration)
    pods("toleration: " .. sentence, { tolerations = { toleration } })
end
tolerates("of everything", { operator = "Exists" })
tolerates("a key that is none", { key = "a b", operator = "Exists" })
tolerates("no key", { operator = "Equal", value = "a" })
tolerates("an operator that is none", { key = "a", operator = "Is" })
tolerates("a value that is none", { key = "a", operator = "Equal", value = "a b" })
tolerates("a value where one exists", { key = "a", operator = "Exists", value = "b" })
tolerates("an effect that is none", { key = "a", operator = "Exists", effect = "Maybe" })
tolerates("for a time", {
    key = "a", operator = "Exists", effect = "NoSchedule", tolerationSeconds = 1,
})
tolerates("what is more", { key = "a", operator = "Gt", value = "1" })

pods("gates", {
    schedulingGates = { { name = "a" }, { name = "a" }, { name = "a b" }, { name = "" } },
})
pods("gates and a node", { nodeName = "n", schedulingGates = { { name = "a" } } })
pods("a class of runtimes that is none", { runtimeClassName = "A_b" })
pods("a scheduler that is none", { schedulerName = "" })
pods("host aliases", { hostAliases = { { ip = "x", hostnames = { "A_b" } } } })
pods("a DNS policy of none", { dnsPolicy = "None" })
pods("DNS", {
    dnsPolicy = "None",
    dnsConfig = { nameservers = { "x", "1.1.1.1", "1.1.1.2", "1.1.1.3" }, searches = { "A_b" } },
})
pods("readiness gates", { readinessGates = { { conditionType = "a b" } } })
pods("an operating system that is none", { os = { name = "dos" } })
pods("of Windows, on Linux", {
    os = { name = "linux" }, securityContext = { windowsOptions = { runAsUserName = "x" } },
})
pods("sysctls", {
    securityContext = { sysctls = { { name = "a b", value = "1" }, { name = "", value = "" } } },
})
pods("groups", { securityContext = { supplementalGroups = { -1 }, fsGroupChangePolicy = "X" } })
pods("the host's users", { hostUsers = false, hostNetwork = true })
pods("a share of processes with the host's", { shareProcessNamespace = true, hostPID = true })
pods("no time to end", { terminationGracePeriodSeconds = -5 })
pods("a deadline of nothing", { activeDeadlineSeconds = 0 })
pods("a preemption that is none", { preemptionPolicy = "Maybe" })
pods("a class of priority that is none", { priorityClassName = "A_b" })
pods("a restart of a container", { restartPolicy = "Sometimes" })
pods("a label of nodes that is none", { nodeSelector = { ["a b"] = "c d" } })

return requests
