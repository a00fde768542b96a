-- Gives each pod a node: a ready one that its nodeSelector allows, with the fewest pods.
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

return function(world)
    local assumed = {} -- uid -> node: bound, while the cache does not show it yet

    local function count_of(node)
        local count = #world.pods:by("node", node.name)
        for _, name in pairs(assumed) do
            count = count + (name == node.name and 1 or 0)
        end
        return count
    end

    local function pick(pod)
        local best, fewest
        for _, node in ipairs(world.nodes:list()) do
            local count = count_of(node)
            if allows(pod, node) and (not best or count < fewest) then
                best, fewest = node, count
            end
        end
        return best
    end

    -- Why it waits, once.
    local function tell(pod)
        for _, condition in kubelua.ipairs(pod:get("status.conditions") or {}) do
            if condition.type == "PodScheduled" and condition.status == "False" then
                return
            end
        end
        world:status(pod, { conditions = { { type = "PodScheduled", status = "False",
            reason = "Unschedulable", lastTransitionTime = world:time(),
            message = "0/" .. world.nodes:count() .. " nodes are available" } } })
    end

    local function is_waiting(pod)
        return not pod:get("spec.nodeName") and not assumed[pod.uid] and world:lives(pod)
            and (pod:get("spec.schedulerName") or "default-scheduler") == "default-scheduler"
    end

    local enqueue = world:queue("scheduler", function(key)
        local pod = world.pods:get(key)
        if not pod or not is_waiting(pod) then
            return
        end
        local node = pick(pod)
        if not node then
            tell(pod)
            return nil, "no node is ready for it"
        end
        assumed[pod.uid] = node.name
        local ok, message = world:bind(pod, node.name)
        if not ok then
            assumed[pod.uid] = nil
            return nil, message
        end
        return true
    end)

    local function look(pod)
        if pod:get("spec.nodeName") then
            assumed[pod.uid] = nil
        elseif is_waiting(pod) then
            enqueue(pod.key)
        end
    end
    world.pods:on {
        add = look,
        update = function(_, pod) look(pod) end,
        delete = function(pod) assumed[pod.uid] = nil end,
    }
end
