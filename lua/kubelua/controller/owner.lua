-- Owner references: the object that a controller reconciles becomes the controller of the objects
-- that it makes, so Kubernetes deletes them together with it.
local core = require "kubelua.core"
local misuse = require "kubelua.misuse"

local owner = {}

---The controller reference to an object.
---@param object kubelua.Object
---@return table
function owner.reference(object)
    return { apiVersion = object.apiVersion, kind = object.kind, name = object.name,
        uid = object.uid, controller = true, blockOwnerDeletion = true }
end

local function references_of(metadata)
    local references = metadata.ownerReferences
    if references == nil or references == core.null then
        return {}
    end
    return core.is_view(references) and core.view_table(references) or references
end

---The controller reference of an object or a document.
---@param object table
---@return table?
function owner.controller(object)
    for _, reference in ipairs(references_of(object.metadata)) do
        if reference.controller == true then
            return reference
        end
    end
end

-- Raises if an object cannot own a document: an owner is in the same namespace, or cluster-scoped.
local function check_namespace(call, object, kind, namespace)
    if not object.namespace then
        return
    elseif not kind.namespaced then
        misuse("%s: %s has a namespace, and cannot own a %s, which has none; to write it without "
            .. "an owner, pass { owner = false }", call, tostring(object), kind.kind)
    elseif namespace ~= object.namespace then
        misuse("%s: %s cannot own a %s in the namespace %s; to write it without an owner, pass "
            .. "{ owner = false }", call, tostring(object), kind.kind, tostring(namespace))
    end
end

---Adds the controller reference to the metadata of a document; changes it. Raises if the object
---cannot own such a document.
---@param call string
---@param metadata table
---@param kind kubelua.Kind of the document
---@param object kubelua.Object
function owner.add(call, metadata, kind, object)
    check_namespace(call, object, kind, metadata.namespace)
    local references = {}
    for _, reference in ipairs(references_of(metadata)) do
        if reference.uid ~= object.uid then
            references[#references + 1] = reference
        end
    end
    references[#references + 1] = owner.reference(object)
    metadata.ownerReferences = references
end

-- True if the reference names this object as it was before it was deleted and created again.
local function is_former(reference, object)
    return reference.kind == object.kind and reference.name == object.name
        and reference.apiVersion:match("^(.*)/") == object.apiVersion:match("^(.*)/")
end

---Says why an owner cannot write an existing object; nil if it controls the object. With `adopts`,
---an object without a controller, or of a former owner of the same name, can be taken. The second
---result is true for that of a former owner.
---@param existing kubelua.Object
---@param object kubelua.Object the owner
---@param adopts boolean?
---@return string?, boolean?
function owner.obstacle(existing, object, adopts)
    local reference = owner.controller(existing)
    if reference and reference.uid == object.uid then
        return nil
    elseif not reference then
        return not adopts and tostring(existing) .. " exists already, and no object controls "
            .. "it; to take it over, pass { adopt = true }" or nil
    elseif is_former(reference, object) then
        return not adopts and tostring(existing) .. " exists already, and belongs to an earlier "
            .. tostring(object) .. " (UID " .. tostring(reference.uid) .. ") that was deleted; to "
            .. "take it over, pass { adopt = true }" or nil, true
    end
    return tostring(existing) .. " exists already, and is controlled by "
        .. tostring(reference.kind) .. " " .. tostring(reference.name) .. " (UID "
        .. tostring(reference.uid) .. ")"
end

---The merge patch that makes an object's owner its controller, for exactly this version, so that no
---other owner takes it meanwhile. nil: the owner controls it already.
---@param existing kubelua.Object
---@param object kubelua.Object the owner
---@return table?
function owner.adoption(existing, object)
    local references = {}
    for _, reference in ipairs(references_of(existing.metadata)) do
        if reference.uid == object.uid and reference.controller == true then
            return nil
        elseif reference.uid ~= object.uid and not is_former(reference, object) then
            references[#references + 1] = reference
        end
    end
    references[#references + 1] = owner.reference(object)
    return { metadata = { uid = existing.uid, resourceVersion = existing.resource_version,
        ownerReferences = references } }
end

return owner
