-- What a pod cannot be: what is required, what is out of range, what does not fit.
local core = require "kubelua.core"
local objects = require "objects"

local of, container = objects.of, objects.container
local requests = {}

local function post(sentence, path, object, only)
    requests[#requests + 1] = { sentence, "POST " .. path, object, only = only }
end

local CORE = "/api/v1/namespaces/{ns}/"

local function pods(sentence, spec)
    post("pod: " .. sentence, CORE .. "pods?dryRun=All", of("v1", "Pod", "p", { spec = spec }))
end

pods("no containers", { containers = core.array {} })
pods("no spec", nil)
pods("a container without a name", { containers = { { image = "a" } } })
pods("a container without an image", { containers = { { name = "a" } } })
pods("a container whose name is none", { containers = { { name = "A_b", image = "a" } } })
pods("two containers of one name", { containers = { container(), container() } })
pods("a restart policy that is none", { containers = { container() }, restartPolicy = "Maybe" })
pods("a pull policy that is none", { containers = { container { imagePullPolicy = "Maybe" } } })
pods("a pull policy by its tag", { containers = { container { image = "app:latest" } } })
pods("a port that is none", {
    containers = { container { ports = { { containerPort = 70000 } } } },
})
pods("a port without number", { containers = { container { ports = { { name = "x" } } } } })
pods("a protocol that is none", {
    containers = { container { ports = { { containerPort = 1, protocol = "X" } } } },
})
pods("an environment without name", { containers = { container { env = { { value = "x" } } } } })
pods("an environment of two sources", {
    containers = {
        container {
            env = {
                {
                    name = "x", value = "x",
                    valueFrom = { fieldRef = { fieldPath = "metadata.name" } },
                },
            },
        },
    },
})
pods("a field that there is not", {
    containers = {
        container {
            env = { { name = "x", valueFrom = { fieldRef = { fieldPath = "metadata.nothing" } } } },
        },
    },
})
pods("a mount of no volume", {
    containers = { container { volumeMounts = { { name = "x", mountPath = "/x" } } } },
})
pods("a mount without path", {
    containers = { container { volumeMounts = { { name = "x" } } } },
    volumes = { { name = "x", emptyDir = {} } },
})
pods("a volume of two kinds", {
    containers = { container() },
    volumes = { { name = "x", emptyDir = {}, hostPath = { path = "/x" } } },
})
pods("two volumes of one name", {
    containers = { container() },
    volumes = { { name = "x", emptyDir = {} }, { name = "x", emptyDir = {} } },
})
pods("a volume without a source", { containers = { container() }, volumes = { { name = "x" } } })
pods("a request above its limit", {
    containers = { container { resources = { requests = { cpu = "2" }, limits = { cpu = "1" } } } },
})
pods("a quantity that is none", {
    containers = { container { resources = { requests = { cpu = "two" } } } },
})
pods("a negative quantity", {
    containers = { container { resources = { requests = { cpu = "-1" } } } },
})
pods("requests out of limits", {
    containers = { container { resources = { limits = { cpu = "1", memory = "1Gi" } } } },
})
pods("a quantity in its own spelling", {
    containers = { container { resources = { requests = { cpu = "1000m", memory = "1024Mi" } } } },
})
pods("a probe of no kind", { containers = { container { livenessProbe = {} } } })
pods("a probe of two kinds", {
    containers = {
        container { livenessProbe = { tcpSocket = { port = 1 }, exec = { command = { "a" } } } },
    },
})
pods("a probe with its defaults", {
    containers = { container { readinessProbe = { httpGet = { port = 80 } } } },
})
pods("a probe with a success threshold", {
    containers = {
        container { livenessProbe = { tcpSocket = { port = 1 }, successThreshold = 2 } },
    },
})
pods("a negative grace", { containers = { container() }, terminationGracePeriodSeconds = -1 })
pods("a node selector that is none", {
    containers = { container() }, nodeSelector = { ["a b"] = "c" },
})
pods("a toleration that is none", {
    containers = { container() }, tolerations = { { operator = "Maybe" } },
})
pods("a policy of DNS that is none", { containers = { container() }, dnsPolicy = "Maybe" })
pods("a host name that is none", { containers = { container() }, hostname = "A_b" })
pods("a class of priority that is not there", {
    containers = { container() }, priorityClassName = "nothing",
})
pods("a class of the system", {
    containers = { container() }, priorityClassName = "system-cluster-critical",
})
pods("a class of runtimes that is not there", {
    containers = { container() }, runtimeClassName = "nothing",
})
pods("an init container", {
    containers = { container() }, initContainers = { { name = "init", image = "i" } },
})
pods("an init container of the same name", {
    containers = { container() }, initContainers = { container() },
})
pods("host ports twice", {
    hostNetwork = true,
    containers = { container { ports = { { containerPort = 80 }, { containerPort = 80 } } } },
})
pods("affinity", {
    containers = { container() },
    affinity = {
        nodeAffinity = {
            requiredDuringSchedulingIgnoredDuringExecution = {
                nodeSelectorTerms = { { matchExpressions = { { key = "a", operator = "In" } } } },
            },
        },
    },
})
pods("security", {
    containers = { container { securityContext = { privileged = true, runAsUser = -1 } } },
})

return requests
