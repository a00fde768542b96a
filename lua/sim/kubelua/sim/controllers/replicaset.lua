-- As many pods as each ReplicaSet says.
local owned = require "kubelua.sim.controllers.owned"

return function(world)
    local function tell(set, active)
        local ready = 0
        for _, pod in ipairs(active) do
            ready = ready + (owned.is_ready(pod) and 1 or 0)
        end
        local status = { replicas = #active, fullyLabeledReplicas = #active, readyReplicas = ready,
            availableReplicas = ready, observedGeneration = set.metadata.generation }
        if owned.says(set.status, status) then
            return true
        end
        return world:status(set, status)
    end

    local enqueue = world:queue("replicaset", function(key)
        local set = world.replicasets:get(key)
        if not set or not world:lives(set) then
            return true
        end
        local active = {}
        for _, pod in ipairs(world.pods:by("owner", set.uid)) do
            if owned.is_active(world, pod) then
                active[#active + 1] = pod
            end
        end
        local missing = (set:get("spec.replicas") or 1) - #active
        local ok, message = true, nil
        if missing > 0 then
            ok, message = owned.create(world, set, missing)
        elseif missing < 0 then
            ok, message = owned.delete(world, active, -missing)
        end
        if not ok then
            return nil, message
        end
        return tell(set, active)
    end)

    owned.watch(world.replicasets, world.pods, "ReplicaSet", enqueue)
end
