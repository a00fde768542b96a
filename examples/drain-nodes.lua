-- A node with the label example.com/drain gets no more pods, and its pods are evicted as their
-- budgets allow; the annotation example.com/drained says if it is empty. Without the label it gets
-- pods again. Try it: kubelua run --sim=examples/cluster.yaml examples/drain-nodes.lua
local kubelua = require "kubelua"

-- A DaemonSet would create its pods again at once; other pods belong to the node, or have ended.
local function stays(pod)
    for _, owner in kubelua.ipairs(pod.metadata.ownerReferences or {}) do
        if owner.kind == "DaemonSet" or owner.kind == "Node" then return true end
    end
    return pod:get("status.phase") == "Succeeded" or pod:get("status.phase") == "Failed"
end

local function mark(run, unschedulable, drained)
    return run:patch { spec = { unschedulable = unschedulable },
        metadata = { annotations = { ["example.com/drained"] = drained } } }
end

kubelua.controller { "nodes", name = "drain-nodes",
    watches = { { "pods", indexes = { node = "spec.nodeName" },
        map = function(pod) return pod.spec.nodeName end } },
    reconcile = function(node, run)
        local drained = node:get('metadata.annotations["example.com/drained"]')
        if not node:get('metadata.labels["example.com/drain"]') then
            return not drained or assert(mark(run, kubelua.null, kubelua.null))
        end
        drained = drained or assert(mark(run, true, "no")) and "no"
        local left, again = 0, nil
        for _, pod in ipairs(run:by("pods", "node", node.name)) do
            left = stays(pod) and left or left + 1
            if not (stays(pod) or pod.metadata.deletionTimestamp) then
                local _, message, code = run:evict(pod)
                if code then run:event("Warning", "NotEvicted", message or code) end
                again = code and 5 or again
            end
        end
        local state = left == 0 and "yes" or "no"
        if drained ~= state then assert(mark(run, true, state)) end
        return again
    end }
