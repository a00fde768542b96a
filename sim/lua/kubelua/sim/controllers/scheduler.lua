-- A scheduler: gives each pod a node, a ready one that its nodeSelector allows, and with the fewest
-- pods.
local kubelua = require "kubelua"
local owned = require "kubelua.sim.controllers.owned"

local function allows(pod, node)
    local labels = node.metadata.labels or {}
    for name, value in kubelua.pairs(pod:get("spec.nodeSelector") or {}) do
        if labels[name] ~= value then
            return false
        end
    end
    return owned.is_ready(node) and not node:get("spec.unschedulable")
end

local function bind_pod(run, pod, node)
    return run.client:create { apiVersion = "v1", kind = "Binding",
        metadata = { name = pod.name, namespace = pod.namespace, uid = pod.uid },
        target = { apiVersion = "v1", kind = "Node", name = node } }
end

return function(life)
    local assumed = {} -- key -> node: bound, but not yet in the cache
    local unscheduled = {} -- a set of keys of pods for which there is no node

    local function count_of(run, node)
        local count = #run:by("pods", "node", node.name)
        for _, name in pairs(assumed) do
            count = count + (name == node.name and 1 or 0)
        end
        return count
    end

    local function pick_node(run, pod)
        local best, fewest
        for _, node in ipairs(run:list("nodes")) do
            local count = count_of(run, node)
            if allows(pod, node) and (not best or count < fewest) then
                best, fewest = node, count
            end
        end
        return best
    end

    local function report_unschedulable(run)
        unscheduled[run.key] = true
        return run:status { conditions = { { type = "PodScheduled", status = "False",
            reason = "Unschedulable", lastTransitionTime = life.time(),
            message = "0/" .. #run:list("nodes") .. " nodes are available" } } }
    end

    local function is_waiting(pod)
        return not pod:get("spec.nodeName")
            and (pod:get("spec.schedulerName") or "default-scheduler") == "default-scheduler"
    end

    local function forget_pod(key)
        assumed[key], unscheduled[key] = nil, nil
    end

    local function reconcile(pod, run)
        if not is_waiting(pod) then
            return forget_pod(run.key)
        elseif assumed[run.key] then
            return
        end
        local node = pick_node(run, pod)
        if not node then
            return report_unschedulable(run)
        end
        assumed[run.key] = node.name
        local ok, message, code = bind_pod(run, pod, node.name)
        if not ok then
            assumed[run.key] = nil
            return nil, message, code
        end
        unscheduled[run.key] = nil
    end

    -- The pods that wait for a node: a changed one may suit them.
    local function list_waiting()
        local keys = {}
        for key in pairs(unscheduled) do
            keys[#keys + 1] = key
        end
        return keys
    end

    -- One worker: the node of a pod depends on where the pod before went.
    return { { "pods", name = "scheduler", workers = 1, indexes = { node = "spec.nodeName" },
        watches = { { "nodes", map = list_waiting } },
        reconcile = reconcile, gone = forget_pod } }
end
