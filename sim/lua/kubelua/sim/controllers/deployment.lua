-- The controller of Deployments: makes a ReplicaSet for each template, and moves pods from the old
-- sets to the new one within maxSurge and maxUnavailable.
local kubelua = require "kubelua"
local owned = require "kubelua.sim.controllers.owned"

local REVISION = "deployment.kubernetes.io/revision"
local HASH = "pod-template-hash"

-- A number of pods, or a percentage of `all`.
local function count_pods(value, all, round)
    if type(value) == "string" then
        return round(all * tonumber(value:match("^(%d+)%%$") or 25) / 100)
    end
    return value or round(all / 4)
end

local function replicas_of(object)
    return object:get("spec.replicas") or 1
end

local function sum_sets(sets, path)
    local all = 0
    for _, set in ipairs(sets) do
        all = all + (set:get(path) or 0)
    end
    return all
end

local function revision_of(set)
    return tonumber((set.metadata.annotations or {})[REVISION]) or 0
end

local function make_set(deployment, run, digest, revision)
    local template = kubelua.table(deployment.spec.template)
    local selector = kubelua.table(deployment.spec.selector)
    template.metadata.labels[HASH] = digest
    selector.matchLabels = selector.matchLabels or {}
    selector.matchLabels[HASH] = digest
    return run:create {
        apiVersion = "apps/v1",
        kind = "ReplicaSet",
        metadata = { name = deployment.name .. "-" .. digest, labels = template.metadata.labels,
            annotations = { [REVISION] = tostring(revision) } },
        spec = { replicas = 0, selector = selector, template = template },
    }
end

local function scale(run, set, count)
    count = math.max(0, count)
    return replicas_of(set) == count or assert(run:patch(set, { spec = { replicas = count } }))
end

-- Moves replicas from the old sets to the new one: as many as the bounds allow now.
local function roll_out(deployment, run, new, old)
    local wanted = replicas_of(deployment)
    local strategy = deployment:get("spec.strategy.rollingUpdate")
    local surge = count_pods(strategy and strategy.maxSurge, wanted, math.ceil)
    local missing = count_pods(strategy and strategy.maxUnavailable, wanted, math.floor)
    if surge == 0 and missing == 0 then
        missing = 1
    end
    local total = replicas_of(new) + sum_sets(old, "spec.replicas")
    local room = wanted + surge - total
    if replicas_of(new) > wanted or room > 0 then
        scale(run, new, math.min(wanted, replicas_of(new) + math.max(0, room)))
    end
    local starting = replicas_of(new) - (new:get("status.availableReplicas") or 0)
    local spare = total - (wanted - missing) - starting
    for _, set in ipairs(old) do
        local broken = replicas_of(set) - (set:get("status.availableReplicas") or 0)
        local fewer = math.min(replicas_of(set),
            math.max(broken, math.min(replicas_of(set), spare)))
        if fewer > 0 then
            scale(run, set, replicas_of(set) - fewer)
            spare = spare - fewer
        end
    end
end

local function recreate(deployment, run, new, old)
    local left = 0
    for _, set in ipairs(old) do
        left = left + #run:by("pods", "owner", set.uid)
        scale(run, set, 0)
    end
    if left == 0 then
        scale(run, new, replicas_of(deployment))
    end
end

-- A condition; its lastUpdateTime changes only if the status or the reason does.
local function make_condition(deployment, now, type, status, reason, message)
    local present = kubelua.condition(deployment, type)
    local is_same = present and present.status == status and present.reason == reason
    return { type = type, status = status, reason = reason, message = message,
        lastUpdateTime = is_same and present.lastUpdateTime or now, lastTransitionTime = now }
end

local function status_of(deployment, new, sets, now)
    local wanted = replicas_of(deployment)
    local available = sum_sets(sets, "status.availableReplicas")
    local updated = new:get("status.replicas") or 0
    local all = sum_sets(sets, "status.replicas")
    local is_done = updated == wanted and all == wanted and available >= wanted
    local missing = count_pods(deployment:get("spec.strategy.rollingUpdate.maxUnavailable"), wanted,
        math.floor)
    local is_there = available >= wanted - missing
    return {
        observedGeneration = deployment.metadata.generation,
        replicas = all,
        updatedReplicas = updated,
        readyReplicas = sum_sets(sets, "status.readyReplicas"),
        availableReplicas = available,
        unavailableReplicas = math.max(0, math.max(all, wanted) - available),
        conditions = {
            is_there and make_condition(deployment, now, "Available", "True",
                "MinimumReplicasAvailable", "Deployment has minimum availability.")
                or make_condition(deployment, now, "Available", "False",
                    "MinimumReplicasUnavailable", "Deployment does not have minimum availability."),
            make_condition(deployment, now, "Progressing", "True",
                is_done and "NewReplicaSetAvailable" or "ReplicaSetUpdated",
                "ReplicaSet \"" .. new.name .. "\" " .. (is_done and "has successfully progressed."
                    or "is progressing.")),
        },
    }
end

-- Sorts the ReplicaSets: the one of the current template, the others, and the highest revision of
-- the others.
local function sort_sets(run, digest)
    local new, old, highest = nil, {}, 0
    for _, set in ipairs(run:owned("replicasets.apps")) do
        if (set.metadata.labels or {})[HASH] == digest then
            new = set
        elseif not owned.is_deleted(set) then
            old[#old + 1] = set
            highest = math.max(highest, revision_of(set))
        end
    end
    table.sort(old, function(a, b)
        return revision_of(a) < revision_of(b)
    end)
    return new, old, highest
end

local function set_revision(deployment, run, new, highest)
    local revision = math.max(revision_of(new), highest + 1)
    local mark = { metadata = { annotations = { [REVISION] = tostring(revision) } } }
    if revision ~= revision_of(new) then
        assert(run:patch(new, mark))
    end
    if revision ~= revision_of(deployment) then
        assert(run:patch(mark))
    end
end

return function(life)
    local function reconcile(deployment, run)
        local digest = kubelua.hash(deployment.spec.template)
        local new, old, highest = sort_sets(run, digest)
        if not new then
            return make_set(deployment, run, digest, highest + 1) -- the next event continues here
        end
        set_revision(deployment, run, new, highest)
        if deployment:get("spec.strategy.type") == "Recreate" and not deployment:get("spec.paused")
        then
            recreate(deployment, run, new, old)
        elseif not deployment:get("spec.paused") then
            roll_out(deployment, run, new, old)
        end
        old[#old + 1] = new
        return run:status(status_of(deployment, new, old, life.time()))
    end

    return { { "deployments.apps", name = "deployment", owns = { "replicasets.apps" },
        reads = { { "pods", indexes = { owner = "metadata.ownerReferences[*].uid" } } },
        reconcile = reconcile } }
end
