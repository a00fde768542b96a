-- The controller of ReplicaSets: keeps as many pods as each one asks for.
local owned = require "kubelua.sim.controllers.owned"

local function reconcile(set, run)
    local active, ready = {}, 0
    for _, pod in ipairs(run:owned("pods")) do
        if owned.is_active(pod) then
            active[#active + 1] = pod
            ready = ready + (owned.is_ready(pod) and 1 or 0)
        end
    end
    local missing = (set:get("spec.replicas") or 1) - #active
    if missing > 0 then
        assert(owned.create(run, set, missing))
    elseif missing < 0 then
        assert(owned.delete(run, active, -missing))
    end
    return run:status { replicas = #active, fullyLabeledReplicas = #active, readyReplicas = ready,
        availableReplicas = ready, observedGeneration = set.metadata.generation }
end

return function()
    return { { "replicasets.apps", name = "replicaset", owns = { "pods" }, reconcile = reconcile } }
end
