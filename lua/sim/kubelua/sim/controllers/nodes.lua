-- Nodes: as many as were asked for, unless there are some. Each is made ready, and has a Lease that
-- is renewed.
local kubelua = require "kubelua"

local HEARTBEAT = 10 -- seconds
local LEASES = "kube-node-lease"

local function is_known(node)
    for _, condition in kubelua.ipairs(node:get("status.conditions") or {}) do
        if condition.type == "Ready" then
            return true
        end
    end
    return false
end

local function describe(world, i)
    local name, now = "node-" .. i, world:time()
    local room = { cpu = "8", memory = "32Gi", pods = "110", ["ephemeral-storage"] = "100Gi" }
    local function condition(type, status, reason, message)
        return { type = type, status = status, reason = reason, message = message,
            lastHeartbeatTime = now, lastTransitionTime = now }
    end
    return {
        apiVersion = "v1",
        kind = "Node",
        metadata = { name = name, labels = {
            ["kubernetes.io/hostname"] = name,
            ["kubernetes.io/os"] = "linux",
            ["kubernetes.io/arch"] = "amd64",
        } },
        spec = { podCIDR = "10.244." .. i .. ".0/24", podCIDRs = { "10.244." .. i .. ".0/24" } },
        status = {
            capacity = room,
            allocatable = room,
            addresses = { { type = "InternalIP", address = "192.168.0." .. i },
                { type = "Hostname", address = name } },
            conditions = {
                condition("MemoryPressure", "False", "KubeletHasSufficientMemory",
                    "kubelet has sufficient memory available"),
                condition("DiskPressure", "False", "KubeletHasNoDiskPressure",
                    "kubelet has no disk pressure"),
                condition("PIDPressure", "False", "KubeletHasSufficientPID",
                    "kubelet has sufficient PID available"),
                condition("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
            },
            nodeInfo = { kubeletVersion = "v1.36.0", osImage = "KubeLua", architecture = "amd64",
                operatingSystem = "linux", containerRuntimeVersion = "kubelua://1",
                kernelVersion = "6.1", machineID = "", systemUUID = "", bootID = "",
                kubeProxyVersion = "" },
        },
    }
end

-- As a kubelet does that registers: what a manifest says of the node stays.
local function register(world, node, i)
    local wanted = describe(world, i)
    wanted.status.addresses[2].address = node.name
    if not node:get("spec.podCIDR") then
        local ok, message = world:patch(node, { spec = wanted.spec })
        if not ok then
            return nil, message
        end
    end
    return world:status(node, wanted.status)
end

local function renew(world, node)
    local now = world:time("!%Y-%m-%dT%H:%M:%S.000000Z")
    local lease = { spec = { holderIdentity = node.name, leaseDurationSeconds = 40,
        renewTime = now } }
    local ok, _, code = world.client:patch("leases.coordination.k8s.io", LEASES .. "/" .. node.name,
        lease)
    if not ok and code == "not_found" then
        lease.apiVersion, lease.kind = "coordination.k8s.io/v1", "Lease"
        lease.metadata = { name = node.name, namespace = LEASES }
        world:create(lease)
    end
end

return function(world)
    if world.nodes:count() == 0 then
        for i = 1, world.options.nodes do
            local wanted = describe(world, i)
            wanted.status, wanted.spec = nil, nil
            assert(world:create(wanted))
        end
    end
    world.client:create { apiVersion = "v1", kind = "Namespace", metadata = { name = LEASES } }
    local count = 0
    world.nodes:on { add = function(node)
        count = count + 1
        if not is_known(node) then
            local ok, message = register(world, node, count)
            if not ok then
                kubelua.log("warn", "%s does not become ready: %s", tostring(node), message)
            end
        end
        renew(world, node)
    end }
    return kubelua.every(HEARTBEAT, function()
        for _, node in ipairs(world.nodes:list()) do
            renew(world, node)
        end
    end)
end
