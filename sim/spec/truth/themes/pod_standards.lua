-- PodSecurity: which pods it lets in, at which level, as of which version.
local core = require "kubelua.core"
local objects = require "objects"
local standards = require "standards"

local of, container = objects.of, standards.container
local requests = {}

local function add(request)
    requests[#requests + 1] = request
end

add(standards.space("baseline", { enforce = "baseline" }))
add(standards.space("restricted", { enforce = "restricted" }))
add(standards.space("old", { enforce = "restricted", ["enforce-version"] = "v1.18" }))
add(standards.space("older", { enforce = "baseline", ["enforce-version"] = "v1.0" }))
add(standards.space("v24", { enforce = "restricted", ["enforce-version"] = "v1.24" }))
add(standards.space("v30", { enforce = "restricted", ["enforce-version"] = "v1.30" }))
add(standards.space("future", { enforce = "restricted", ["enforce-version"] = "v1.99" }))
add(standards.space("warned", { warn = "restricted" }))
add(standards.space("both", {
    enforce = "baseline", warn = "restricted", ["warn-version"] = "v1.30",
}))
add(standards.space("own-warning", { enforce = "restricted", warn = "privileged" }))

local function pods(name)
    return "/api/v1/namespaces/{run}-" .. name .. "/pods?dryRun=All"
end

local SPACES = { "baseline", "restricted" }
local function pod(sentence, spec, metadata, spaces)
    for _, name in ipairs(spaces or SPACES) do
        local object = of("v1", "Pod", "p", { spec = spec, metadata = metadata })
        add { name .. ": " .. sentence, "POST " .. pods(name), object }
    end
end

-- What the restricted level is content with.
local function good(more)
    local result = {
        allowPrivilegeEscalation = false, runAsNonRoot = true,
        capabilities = { drop = { "ALL" } }, seccompProfile = { type = "RuntimeDefault" },
    }
    for key, value in pairs(more or {}) do
        result[key] = value
    end
    return result
end

local ALL = { "baseline", "restricted", "old", "older", "v24", "v30", "future", "warned", "both",
    "own-warning" }
pod("nothing said", { containers = { container("a") } }, nil, ALL)
pod("all said", { containers = { container("a", good()) } }, nil, ALL)
pod("two, nothing said", { containers = { container("a"), container("b") } })
pod("of all kinds", {
    initContainers = { container("i") }, containers = { container("a", good()), container("b") },
})
pod("for windows", { os = { name = "windows" }, containers = { container("a") } }, nil, ALL)
pod("said for all", {
    securityContext = { runAsNonRoot = true, seccompProfile = { type = "Localhost",
        localhostProfile = "x" } },
    containers = { container("a", { allowPrivilegeEscalation = false,
        capabilities = { drop = { "ALL" } } }) },
})

pod("host namespaces", {
    hostNetwork = true, hostPID = true, hostIPC = true, containers = { container("a", good()) },
})
pod("one host namespace", { hostPID = true, containers = { container("a", good()) } })
pod("host paths", {
    volumes = {
        { name = "v", hostPath = { path = "/" } }, { name = "w", emptyDir = core.decode "{}" },
        { name = "u", hostPath = { path = "/a" } },
    },
    containers = { container("a", good()) },
})
pod("a host path", {
    volumes = { { name = "v", hostPath = { path = "/" } } },
    containers = { container("a", good()) },
})
pod("volumes of other kinds", {
    volumes = {
        { name = "n", nfs = { server = "s", path = "/" } },
        { name = "i", iscsi = { targetPortal = "1.2.3.4", iqn = "iqn.2000-01.a:b", lun = 0 } },
        { name = "g", gitRepo = { repository = "x" } },
        { name = "c", configMap = { name = "x" } }, { name = "s", secret = { secretName = "x" } },
        { name = "p", persistentVolumeClaim = { claimName = "x" } },
    },
    containers = { container("a", good()) },
})
pod("host ports", {
    containers = {
        container("a", good(), { ports = { { containerPort = 80, hostPort = 8080 },
            { containerPort = 81, hostPort = 901 } } }),
        container("b", good(), { ports = { { containerPort = 82, hostPort = 8081 } } }),
        container("c", good(), { ports = { { containerPort = 83 } } }),
    },
})
pod("a host port", {
    containers = { container("a", good(), { ports = { { containerPort = 80, hostPort = 80 } } }) },
})
pod("probes of another host", {
    containers = {
        container("b", good(), {
            livenessProbe = { httpGet = { port = 80, host = "x.y" } },
            readinessProbe = { tcpSocket = { port = 80, host = "1.2.3.4" } },
        }),
        container("a", good(), {
            lifecycle = { preStop = { httpGet = { port = 80, host = "x.y" } } },
        }),
    },
}, nil, { "baseline", "restricted", "v30" })
pod("a probe of another host", {
    containers = { container("b", good(), {
        startupProbe = { httpGet = { port = 80, host = "x.y" } },
    }) },
})
pod("privileged", {
    containers = { container("a", { privileged = true }), container("b", { privileged = true }) },
})
pod("capabilities", {
    containers = {
        container("a", good { capabilities = { add = { "NET_RAW", "CHOWN", "SYS_ADMIN" } } }),
        container("b", good { capabilities = { add = { "NET_RAW" }, drop = { "ALL" } } }),
        container("c", good { capabilities = { add = { "NET_BIND_SERVICE" }, drop = { "ALL" } } }),
    },
}, nil, { "baseline", "restricted", "old", "v24" })
pod("proc", {
    hostUsers = false, containers = { container("a", good { procMount = "Unmasked" }) },
}, nil, { "baseline", "restricted", "older", "v30" })
pod("proc, with the host's users", {
    containers = { container("a", good { procMount = "Unmasked" }) },
})
pod("SELinux", {
    securityContext = { seLinuxOptions = { type = "x_t", user = "u" } },
    containers = {
        container("a", good { seLinuxOptions = { type = "y_t", role = "r" } }),
        container("b", good { seLinuxOptions = { type = "container_engine_t" } }),
    },
}, nil, { "baseline", "restricted", "v24" })
pod("SELinux, a user alone", {
    containers = { container("a", good { seLinuxOptions = { user = "u" } }) },
})
pod("seccomp", {
    securityContext = { seccompProfile = { type = "Unconfined" } },
    containers = { container("a", good()), container("b", good {
        seccompProfile = { type = "Unconfined" },
    }) },
}, nil, { "baseline", "restricted", "old", "older", "v24" })
pod("seccomp of one", {
    containers = { container("a", { allowPrivilegeEscalation = false, runAsNonRoot = true,
        capabilities = { drop = { "ALL" } } }), container("b", good()) },
})
pod("AppArmor", {
    securityContext = { appArmorProfile = { type = "Unconfined" } },
    containers = { container("a", good { appArmorProfile = { type = "Unconfined" } }) },
})
pod("AppArmor by annotations", { containers = { container("a", good()) } }, {
    annotations = { ["container.apparmor.security.beta.kubernetes.io/a"] = "unconfined" },
})
pod("sysctls", {
    securityContext = { sysctls = {
        { name = "kernel.msgmax", value = "1" }, { name = "net.ipv4.tcp_rmem", value = "1" },
        { name = "net.ipv4.tcp_keepalive_time", value = "1" },
        { name = "kernel.shm_rmid_forced", value = "1" },
        { name = "net.ipv4.ip_local_reserved_ports", value = "1" },
    } },
    containers = { container("a", good()) },
}, nil, { "baseline", "restricted", "v24", "v30", "older" })
pod("host processes", {
    os = { name = "windows" }, hostNetwork = true,
    securityContext = { windowsOptions = { hostProcess = true } },
    containers = { container("a", { windowsOptions = { hostProcess = true } }) },
})
pod("root", {
    securityContext = { runAsUser = 0, runAsNonRoot = false },
    containers = {
        container("a", good { runAsUser = 0 }), container("b", good { runAsNonRoot = false }),
    },
}, nil, { "baseline", "restricted", "old", "v24" })
pod("root, of other users than the host's", {
    hostUsers = false, securityContext = { runAsUser = 0 },
    containers = { container("a", good { runAsNonRoot = false, runAsUser = 0 }) },
}, nil, { "restricted", "v30" })
for _, name in ipairs(SPACES) do
    local object = of("v1", "Pod", nil, { spec = { containers = { container("a") } } })
    object.metadata.generateName = "g-"
    add { name .. ": with a name to be made", "POST " .. pods(name), object, only = "status" }
end

return requests
