-- A kubelet that runs no containers. A pod with a node gets an address, starts, becomes ready, and
-- stops soon after it is deleted. A pod that is not restarted succeeds by itself, after the seconds
-- in its annotation kubelua.sim/seconds.
local kubelua = require "kubelua"

local function each_container(pod, f)
    local list = kubelua.array()
    for i, container in kubelua.ipairs(pod.spec.containers) do
        list[i] = f(container)
    end
    return list
end

local function make_conditions(now, ready, reason)
    local list = {}
    for _, type in ipairs { "PodReadyToStartContainers", "Initialized", "PodScheduled" } do
        list[#list + 1] = { type = type, status = "True", lastTransitionTime = now }
    end
    for _, type in ipairs { "Ready", "ContainersReady" } do
        list[#list + 1] = { type = type, status = ready, reason = reason, lastTransitionTime = now }
    end
    return list
end

-- The first address in the node's range that no pod has.
local function free_address(run, node)
    local range = node and node:get("spec.podCIDR") or "10.244.0.0/24"
    local prefix = range:match("^%d+%.%d+%.%d+%.")
    for last = 2, 254 do
        if #run:by("pods", "ip", prefix .. last) == 0 then
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

return function(life)
    local function accept(pod, run)
        local host = host_address(run:get("nodes", pod.spec.nodeName))
        return run:status {
            phase = "Pending",
            startTime = life.time(),
            hostIP = host,
            hostIPs = { { ip = host } },
            conditions = make_conditions(life.time(), "False", "ContainersNotReady"),
            containerStatuses = each_container(pod, function(container)
                return { name = container.name, image = container.image, imageID = "",
                    ready = false, started = false, restartCount = 0,
                    state = { waiting = { reason = "ContainerCreating" } } }
            end),
        }
    end

    local function start(pod, run)
        local address = free_address(run, run:get("nodes", pod.spec.nodeName))
        if not address then
            return nil, "no address is free on " .. pod.spec.nodeName
        end
        return run:status {
            phase = "Running",
            podIP = address,
            podIPs = { { ip = address } },
            conditions = make_conditions(life.time(), "True"),
            containerStatuses = each_container(pod, function(container)
                return { name = container.name, image = container.image, imageID = container.image,
                    containerID = "kubelua://" .. pod.uid .. "/" .. container.name, ready = true,
                    started = true, restartCount = 0,
                    state = { running = { startedAt = life.time() } } }
            end),
        }
    end

    local function finish(pod, run)
        return run:status {
            phase = "Succeeded",
            conditions = make_conditions(life.time(), "False", "PodCompleted"),
            containerStatuses = each_container(pod, function(container)
                return { name = container.name, image = container.image, imageID = container.image,
                    ready = false, started = false, restartCount = 0,
                    state = { terminated = { exitCode = 0, reason = "Completed",
                        startedAt = pod.status.startTime, finishedAt = life.time() } } }
            end),
        }
    end

    local function run_time(pod)
        local annotations = pod.metadata.annotations or {}
        return tonumber(annotations["kubelua.sim/seconds"]) or life.job_seconds
    end

    -- The seconds that are left of a step; nil: it is over.
    local function time_left(run, step, seconds)
        run.memo[step] = run.memo[step] or life.clock()
        local rest = run.memo[step] + seconds - life.clock()
        return rest > 0 and rest or nil
    end

    local function reconcile(pod, run)
        if not pod:get("spec.nodeName") then
            return
        elseif pod:get("metadata.deletionTimestamp") then
            local grace = pod:get("metadata.deletionGracePeriodSeconds") or 0
            return time_left(run, "stop", math.min(grace, life.stop_seconds))
                or run:delete(pod, { grace = 0 })
        end
        local phase = pod:get("status.phase") or "Pending"
        if phase == "Pending" then
            if not pod:get("status.startTime") then
                return accept(pod, run)
            end
            return time_left(run, "start", life.start_seconds) or start(pod, run)
        elseif phase == "Running" and (pod.spec.restartPolicy or "Always") ~= "Always" then
            return time_left(run, "run", run_time(pod)) or finish(pod, run)
        end
    end

    -- One worker, so that a run sees the address that the run before has taken.
    return { { "pods", name = "kubelet", terminating = true, workers = 1,
        indexes = { ip = "status.podIP" }, reads = { "nodes" }, reconcile = reconcile } }
end
