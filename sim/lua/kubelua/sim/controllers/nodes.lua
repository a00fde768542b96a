-- Nodes: creates as many as were asked for, if there are none. Each becomes ready, and has a Lease
-- that is renewed.
local kubelua = require "kubelua"

local HEARTBEAT = 10 -- seconds
local LEASES = "kube-node-lease"

local CONDITIONS = {
    { "MemoryPressure", "False", "KubeletHasSufficientMemory",
        "kubelet has sufficient memory available" },
    { "DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure" },
    { "PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available" },
    { "Ready", "True", "KubeletReady", "kubelet is posting ready status" },
}

local function conditions_of(now)
    local conditions = {}
    for i, one in ipairs(CONDITIONS) do
        conditions[i] = { type = one[1], status = one[2], reason = one[3], message = one[4],
            lastHeartbeatTime = now, lastTransitionTime = now }
    end
    return conditions
end

local function status_of(name, number, now)
    local room = { cpu = "8", memory = "32Gi", pods = "110", ["ephemeral-storage"] = "100Gi" }
    return {
        capacity = room,
        allocatable = room,
        addresses = { { type = "InternalIP", address = "192.168.0." .. number },
            { type = "Hostname", address = name } },
        conditions = conditions_of(now),
        nodeInfo = { kubeletVersion = "v1.36.0", osImage = "KubeLua", architecture = "amd64",
            operatingSystem = "linux", containerRuntimeVersion = "kubelua://1",
            kernelVersion = "6.1", machineID = "", systemUUID = "", bootID = "",
            kubeProxyVersion = "" },
    }
end

local function renew_lease(run, name, now)
    local lease = { spec = { holderIdentity = name, leaseDurationSeconds = 40, renewTime = now } }
    local renewed, message, code = run:patch("leases.coordination.k8s.io", LEASES .. "/" .. name,
        lease)
    if renewed or code ~= "not_found" then
        return renewed, message, code
    end
    lease.apiVersion, lease.kind = "coordination.k8s.io/v1", "Lease"
    lease.metadata = { name = name, namespace = LEASES }
    return run:create(lease, { owner = false })
end

return function(life)
    local count = 0

    -- Creates the nodes of a cluster that has none, and the namespace of their Leases.
    local function make_nodes(_, run)
        for i = 1, #run:list("nodes") == 0 and life.nodes or 0 do
            assert(run:create { apiVersion = "v1", kind = "Node",
                metadata = { name = "node-" .. i, labels = {
                    ["kubernetes.io/hostname"] = "node-" .. i,
                    ["kubernetes.io/os"] = "linux",
                    ["kubernetes.io/arch"] = "amd64",
                } } })
        end
        -- A manifest may have made it.
        assert(run:apply({ apiVersion = "v1", kind = "Namespace", metadata = { name = LEASES } },
            { adopt = true }))
        life.has_nodes = true
    end

    -- Registers a node, as a kubelet does. Fields that a manifest has given it stay.
    local function register_node(node, run)
        count = count + 1
        if not node:get("spec.podCIDR") then
            local range = "10.244." .. count .. ".0/24"
            assert(run:patch { spec = { podCIDR = range, podCIDRs = { range } } })
        end
        assert(run:status(status_of(node.name, count, life.time())))
    end

    local function reconcile(node, run)
        if not kubelua.condition(node, "Ready") then
            register_node(node, run)
        end
        assert(renew_lease(run, node.name, life.time(6)))
        return HEARTBEAT
    end

    return {
        { name = "cluster", reads = { "nodes" }, reconcile = make_nodes },
        -- Heartbeats are made by time, so no update is needed.
        { "nodes", name = "nodes", when = function() return false end, reconcile = reconcile },
    }
end
