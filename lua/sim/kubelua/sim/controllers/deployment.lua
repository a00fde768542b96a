-- Deployments: a ReplicaSet for each template, and a roll from the old ones to the new one that
-- keeps to maxSurge and maxUnavailable.
local kubelua = require "kubelua"
local owned = require "kubelua.sim.controllers.owned"

local REVISION = "deployment.kubernetes.io/revision"
local HASH = "pod-template-hash"

-- The same text for the same value, in whichever order its fields come.
local function canonical(value)
    if type(value) ~= "table" then
        return tostring(value)
    end
    local parts = {}
    for name, part in pairs(value) do
        parts[#parts + 1] = tostring(name) .. "=" .. canonical(part)
    end
    table.sort(parts)
    return "{" .. table.concat(parts, ";") .. "}"
end

local function hash(template)
    local text, sum = canonical(template), 5381
    for i = 1, #text do
        sum = (sum * 33 + text:byte(i)) % 4294967296
    end
    return string.format("%08x", sum)
end

-- A number of pods, or a part of `all` as a percentage.
local function scaled(value, all, round)
    if type(value) == "string" then
        return round(all * tonumber(value:match("^(%d+)%%$") or 25) / 100)
    end
    return value or round(all / 4)
end

local function replicas(object)
    return object:get("spec.replicas") or 1
end

local function sum(sets, path)
    local all = 0
    for _, set in ipairs(sets) do
        all = all + (set:get(path) or 0)
    end
    return all
end

local function revision_of(set)
    return tonumber((set.metadata.annotations or {})[REVISION]) or 0
end

local function make_set(world, deployment, name, digest, revision)
    local template = kubelua.table(deployment.spec.template)
    local selector = kubelua.table(deployment.spec.selector)
    template.metadata.labels[HASH] = digest
    selector.matchLabels = selector.matchLabels or {}
    selector.matchLabels[HASH] = digest
    return world:create {
        apiVersion = "apps/v1",
        kind = "ReplicaSet",
        metadata = { name = name, namespace = deployment.namespace,
            labels = template.metadata.labels,
            annotations = { [REVISION] = tostring(revision) },
            ownerReferences = { owned.reference(deployment) } },
        spec = { replicas = 0, selector = selector, template = template },
    }
end

local function scale(world, set, count)
    count = math.max(0, count)
    return replicas(set) == count or world:patch(set, { spec = { replicas = count } })
end

-- Moves some replicas from the old sets to the new one: as many as the bounds allow now.
local function roll(world, deployment, new, old)
    local wanted = replicas(deployment)
    local strategy = deployment:get("spec.strategy.rollingUpdate")
    local surge = scaled(strategy and strategy.maxSurge, wanted, math.ceil)
    local missing = scaled(strategy and strategy.maxUnavailable, wanted, math.floor)
    if surge == 0 and missing == 0 then
        missing = 1
    end
    local total = replicas(new) + sum(old, "spec.replicas")
    local room = wanted + surge - total
    if replicas(new) > wanted or room > 0 then
        local ok, message = scale(world, new, math.min(wanted, replicas(new) + math.max(0, room)))
        if not ok then
            return nil, message
        end
    end
    local starting = replicas(new) - (new:get("status.availableReplicas") or 0)
    local spare = total - (wanted - missing) - starting
    for _, set in ipairs(old) do
        local broken = replicas(set) - (set:get("status.availableReplicas") or 0)
        local fewer = math.min(replicas(set), math.max(broken, math.min(replicas(set), spare)))
        if fewer > 0 then
            local ok, message = scale(world, set, replicas(set) - fewer)
            if not ok then
                return nil, message
            end
            spare = spare - fewer
        end
    end
    return true
end

local function recreate(world, deployment, new, old)
    local left = 0
    for _, set in ipairs(old) do
        left = left + #world.pods:by("owner", set.uid)
        local ok, message = scale(world, set, 0)
        if not ok then
            return nil, message
        end
    end
    return left > 0 or scale(world, new, replicas(deployment))
end

-- A condition with a new time only where its status is new.
local function condition(world, deployment, type, status, reason, message)
    local now, since = world:time(), nil
    local present = kubelua.condition(deployment, type)
    if present and present.status == status then
        since = present.lastTransitionTime
        if present.reason == reason then
            now = present.lastUpdateTime
        end
    end
    return { type = type, status = status, reason = reason, message = message,
        lastUpdateTime = now, lastTransitionTime = since or now }
end

local function status_of(world, deployment, new, sets)
    local wanted = replicas(deployment)
    local available = sum(sets, "status.availableReplicas")
    local updated = new:get("status.replicas") or 0
    local all = sum(sets, "status.replicas")
    local is_done = updated == wanted and all == wanted and available >= wanted
    local missing = scaled(deployment:get("spec.strategy.rollingUpdate.maxUnavailable"), wanted,
        math.floor)
    local is_there = available >= wanted - missing
    return {
        observedGeneration = deployment.metadata.generation,
        replicas = all,
        updatedReplicas = updated,
        readyReplicas = sum(sets, "status.readyReplicas"),
        availableReplicas = available,
        unavailableReplicas = math.max(0, math.max(all, wanted) - available),
        conditions = {
            is_there and condition(world, deployment, "Available", "True",
                "MinimumReplicasAvailable", "Deployment has minimum availability.")
                or condition(world, deployment, "Available", "False",
                    "MinimumReplicasUnavailable", "Deployment does not have minimum availability."),
            condition(world, deployment, "Progressing", "True",
                is_done and "NewReplicaSetAvailable" or "ReplicaSetUpdated",
                "ReplicaSet \"" .. new.name .. "\" " .. (is_done and "has successfully progressed."
                    or "is progressing.")),
        },
    }
end

-- The set of the template that is wanted now, the others, and the highest revision among these.
local function sort_sets(world, deployment, digest)
    local new, old, highest = nil, {}, 0
    for _, set in ipairs(world.replicasets:by("owner", deployment.uid)) do
        if (set.metadata.labels or {})[HASH] == digest then
            new = set
        elseif world:lives(set) then
            old[#old + 1] = set
            highest = math.max(highest, revision_of(set))
        end
    end
    table.sort(old, function(a, b)
        return revision_of(a) < revision_of(b)
    end)
    return new, old, highest
end

return function(world)
    local function act(deployment, new, old)
        if deployment:get("spec.paused") then
            return true
        elseif deployment:get("spec.strategy.type") == "Recreate" then
            return recreate(world, deployment, new, old)
        end
        return roll(world, deployment, new, old)
    end

    local function number(deployment, new, highest)
        local revision = math.max(revision_of(new), highest + 1)
        local mark = { metadata = { annotations = { [REVISION] = tostring(revision) } } }
        if revision ~= revision_of(new) and not world:patch(new, mark) then
            return nil, "its ReplicaSet could not be given a revision"
        end
        return revision == revision_of(deployment) or world:patch(deployment, mark)
    end

    local enqueue = world:queue("deployment", function(key)
        local deployment = world.deployments:get(key)
        if not deployment or not world:lives(deployment) then
            return true
        end
        local digest = hash(kubelua.table(deployment.spec.template))
        local new, old, highest = sort_sets(world, deployment, digest)
        if not new then
            local name = deployment.name .. "-" .. digest
            local ok, message = make_set(world, deployment, name, digest, highest + 1)
            return ok and 0 or nil, message -- once more, when the cache has it
        end
        local ok, message = number(deployment, new, highest)
        if ok then
            ok, message = act(deployment, new, old)
        end
        if not ok then
            return nil, message
        end
        old[#old + 1] = new
        local status = status_of(world, deployment, new, old)
        return owned.says(deployment.status, status) or world:status(deployment, status)
    end)

    owned.watch(world.deployments, world.replicasets, "Deployment", enqueue)
end
