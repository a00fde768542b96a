-- The pods of an owner, such as a ReplicaSet: which of them count, and how to create or delete
-- some.
local kubelua = require "kubelua"

local owned = {}

---@param object kubelua.Object
---@return boolean
function owned.is_deleted(object)
    return object:get("metadata.deletionTimestamp") ~= nil
end

---True if a pod is neither finished nor being deleted.
---@param pod kubelua.Object
---@return boolean
function owned.is_active(pod)
    local phase = pod:get("status.phase")
    return phase ~= "Succeeded" and phase ~= "Failed" and not owned.is_deleted(pod)
end

---@param object kubelua.Object a pod, or a node
---@return boolean
function owned.is_ready(object)
    local ready = kubelua.condition(object, "Ready")
    return ready ~= nil and ready.status == "True"
end

---Creates pods from the template of an owner.
---@param run kubelua.Run
---@param owner kubelua.Object
---@param count integer
---@param labels table? additional labels
---@return true?, string?, string?, number?
function owned.create(run, owner, count, labels)
    for _ = 1, count do
        local pod = kubelua.table(owner.spec.template)
        pod.apiVersion, pod.kind, pod.metadata = "v1", "Pod", pod.metadata or {}
        pod.metadata.generateName = owner.name .. "-"
        pod.metadata.labels = pod.metadata.labels or {}
        for name, value in pairs(labels or {}) do
            pod.metadata.labels[name] = value
        end
        local ok, message, code, retry_after = run:create(pod)
        if not ok then
            return nil, message, code, retry_after
        end
    end
    return true
end

-- Sorts the pods to delete first to the front: pods without a node, then those not ready, then the
-- youngest.
local function is_before(a, b)
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
---@param run kubelua.Run
---@param pods kubelua.Object[]
---@param count integer
---@return true?, string?, string?, number?
function owned.delete(run, pods, count)
    table.sort(pods, is_before)
    for i = 1, math.min(count, #pods) do
        local ok, message, code, retry_after = run:delete(pods[i])
        if not ok then
            return nil, message, code, retry_after
        end
    end
    return true
end

return owned
