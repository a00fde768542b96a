-- Pods that belong to something: which ones there are, and making or removing some.
local kubelua = require "kubelua"

local owned = {}

---Whether a pod is neither finished nor being deleted.
---@param world kubelua.sim.World
---@param pod kubelua.Object
---@return boolean
function owned.is_active(world, pod)
    local phase = pod:get("status.phase")
    return phase ~= "Succeeded" and phase ~= "Failed" and world:lives(pod)
end

---@param object kubelua.Object a pod, or a node
---@return boolean
function owned.is_ready(object)
    local ready = kubelua.condition(object, "Ready")
    return ready ~= nil and ready.status == "True"
end

---The reference of an owner that controls.
---@param owner kubelua.Object
---@return table
function owned.reference(owner)
    return { apiVersion = owner.apiVersion, kind = owner.kind, name = owner.name, uid = owner.uid,
        controller = true, blockOwnerDeletion = true }
end

---Makes pods of an owner's template.
---@param world kubelua.sim.World
---@param owner kubelua.Object
---@param count integer
---@param labels table? more of them
---@return true?, string?, string?
function owned.create(world, owner, count, labels)
    for _ = 1, count do
        local pod = kubelua.table(owner.spec.template)
        local metadata = pod.metadata or {}
        metadata.labels = metadata.labels or {}
        for name, value in pairs(labels or {}) do
            metadata.labels[name] = value
        end
        metadata.generateName = owner.name .. "-"
        metadata.namespace = owner.namespace
        metadata.ownerReferences = { owned.reference(owner) }
        pod.apiVersion, pod.kind, pod.metadata = "v1", "Pod", metadata
        local ok, message, code = world:create(pod)
        if not ok then
            return nil, message, code
        end
    end
    return true
end

-- Those that nobody would miss first: without a node, then not ready, then the youngest.
local function before(a, b)
    local node_a, node_b = a:get("spec.nodeName") ~= nil, b:get("spec.nodeName") ~= nil
    if node_a ~= node_b then
        return node_b
    end
    local ready_a, ready_b = owned.is_ready(a), owned.is_ready(b)
    if ready_a ~= ready_b then
        return ready_b
    end
    if a.metadata.creationTimestamp ~= b.metadata.creationTimestamp then
        return a.metadata.creationTimestamp > b.metadata.creationTimestamp
    end
    return a.name < b.name
end

---Deletes some of the pods.
---@param world kubelua.sim.World
---@param pods kubelua.Object[]
---@param count integer
---@return true?, string?, string?
function owned.delete(world, pods, count)
    table.sort(pods, before)
    for i = 1, math.min(count, #pods) do
        local ok, message, code = world:delete(pods[i])
        if not ok then
            return nil, message, code
        end
    end
    return true
end

---Whether `patch` would change nothing of `status`: arrays are compared whole.
---@param status any
---@param patch table
---@return boolean
function owned.says(status, patch)
    for name, value in pairs(patch) do
        local present = status and status[name]
        if type(value) == "table" then
            if present == nil or kubelua.json(present) ~= kubelua.json(value) then
                return false
            end
        elseif present ~= value and not (value == 0 and present == nil) then
            return false
        end
    end
    return true
end

---Enqueues an owner when it changes, and when something changes that it controls.
---@param owners kubelua.Informer
---@param controlled kubelua.Informer
---@param kind string of the owners
---@param enqueue fun(key: string)
function owned.watch(owners, controlled, kind, enqueue)
    local function look(object)
        for _, reference in kubelua.ipairs(object:get("metadata.ownerReferences") or {}) do
            if reference.controller and reference.kind == kind then
                enqueue(object.namespace .. "/" .. reference.name)
            end
        end
    end
    controlled:on { add = look, update = function(_, object) look(object) end, delete = look }
    owners:on {
        add = function(owner) enqueue(owner.key) end,
        update = function(_, owner) enqueue(owner.key) end,
    }
end

return owned
