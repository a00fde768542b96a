-- Runs pods, or so they think: a pod that has a node gets an address and starts its containers,
-- becomes ready, and stops in good time when it is deleted. One that is not to be restarted ends by
-- itself, after as long as its annotation kubelua.sim/seconds says.
local kubelua = require "kubelua"

local function each_container(pod, f)
    local list = kubelua.array()
    for i, container in kubelua.ipairs(pod.spec.containers) do
        list[i] = f(container)
    end
    return list
end

-- Unless the one that is there says the same already: its time stays.
local function condition(world, pod, type, status, reason)
    local present = kubelua.condition(pod, type)
    if present and present.status == status then
        return kubelua.table(present)
    end
    return { type = type, status = status, reason = reason, lastTransitionTime = world:time() }
end

local function conditions(world, pod, ready, reason)
    return {
        condition(world, pod, "PodReadyToStartContainers", "True"),
        condition(world, pod, "Initialized", "True"),
        condition(world, pod, "Ready", ready, reason),
        condition(world, pod, "ContainersReady", ready, reason),
        condition(world, pod, "PodScheduled", "True"),
    }
end

-- The first address of the node's range that no pod has.
local function free_address(world, node)
    local range = node and node:get("spec.podCIDR") or "10.244.0.0/24"
    local prefix = range:match("^%d+%.%d+%.%d+%.")
    for last = 2, 254 do
        if #world.pods:by("ip", prefix .. last) == 0 then
            return prefix .. last
        end
    end
    return nil
end

local function host_address(node)
    for _, address in kubelua.ipairs(node and node:get("status.addresses") or {}) do
        if address.type == "InternalIP" then
            return address.address
        end
    end
    return "192.168.0.1"
end

local function accept(world, pod)
    local node = world.nodes:get(pod.spec.nodeName)
    return world:status(pod, {
        phase = "Pending",
        startTime = world:time(),
        hostIP = host_address(node),
        hostIPs = { { ip = host_address(node) } },
        conditions = conditions(world, pod, "False", "ContainersNotReady"),
        containerStatuses = each_container(pod, function(container)
            return { name = container.name, image = container.image, imageID = "", ready = false,
                started = false, restartCount = 0,
                state = { waiting = { reason = "ContainerCreating" } } }
        end),
    })
end

local function start(world, pod)
    local address = free_address(world, world.nodes:get(pod.spec.nodeName))
    if not address then
        return nil, "no address is free on " .. pod.spec.nodeName
    end
    return world:status(pod, {
        phase = "Running",
        podIP = address,
        podIPs = { { ip = address } },
        conditions = conditions(world, pod, "True"),
        containerStatuses = each_container(pod, function(container)
            return { name = container.name, image = container.image, imageID = container.image,
                containerID = "kubelua://" .. pod.uid .. "/" .. container.name, ready = true,
                started = true, restartCount = 0,
                state = { running = { startedAt = world:time() } } }
        end),
    })
end

local function finish(world, pod)
    return world:status(pod, {
        phase = "Succeeded",
        conditions = conditions(world, pod, "False", "PodCompleted"),
        containerStatuses = each_container(pod, function(container)
            return { name = container.name, image = container.image, imageID = container.image,
                ready = false, started = false, restartCount = 0,
                state = { terminated = { exitCode = 0, reason = "Completed",
                    startedAt = pod.status.startTime, finishedAt = world:time() } } }
        end),
    })
end

local function run_time(world, pod)
    local annotations = pod.metadata.annotations or {}
    return tonumber(annotations["kubelua.sim/seconds"]) or world.options.job_seconds
end

return function(world)
    local since = {} -- uid -> when the current step began, on the machine's clock

    -- The seconds that are left of a step that takes so long; nil: it is over.
    local function left(pod, step, seconds)
        local steps = since[pod.uid] or {}
        since[pod.uid] = steps
        steps[step] = steps[step] or world.options.clock()
        local rest = steps[step] + seconds - world.options.clock()
        return rest > 0 and rest or nil
    end

    local function advance(pod)
        local phase = pod:get("status.phase") or "Pending"
        if phase == "Pending" then
            if not pod:get("status.startTime") then
                return accept(world, pod)
            end
            return left(pod, "start", world.options.start_seconds) or start(world, pod)
        elseif phase == "Running" and (pod.spec.restartPolicy or "Always") ~= "Always" then
            return left(pod, "run", run_time(world, pod)) or finish(world, pod)
        end
        return true
    end

    local enqueue = world:queue("kubelet", function(key)
        local pod = world.pods:get(key)
        if not pod or not pod:get("spec.nodeName") then
            return true
        elseif not pod:get("metadata.deletionTimestamp") then
            return advance(pod)
        end
        local grace = pod:get("metadata.deletionGracePeriodSeconds") or 0
        return left(pod, "stop", math.min(grace, world.options.stop_seconds))
            or world:delete(pod, 0)
    end)

    local function look(pod)
        if pod:get("spec.nodeName") then
            enqueue(pod.key)
        end
    end
    world.pods:on {
        add = look,
        update = function(_, pod) look(pod) end,
        delete = function(pod)
            since[pod.uid] = nil
            world.deleted[pod.uid] = nil
        end,
    }
end
