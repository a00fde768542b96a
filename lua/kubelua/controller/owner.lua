-- Owner references: what a controller makes is controlled by the object that it reconciles, and
-- ends with it.
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

---The controller reference that an object or a document has.
---@param object table
---@return table?
function owner.controller(object)
    for _, reference in ipairs(references_of(object.metadata)) do
        if reference.controller == true then
            return reference
        end
    end
end

---Raises if an object cannot own what is to be written: the owner of an object is in its namespace,
---or has none.
---@param call string
---@param object kubelua.Object
---@param kind kubelua.Kind of what is written
---@param namespace string? of that
function owner.check(call, object, kind, namespace)
    if not object.namespace then
        return
    elseif not kind.namespaced then
        misuse("%s: %s has a namespace, and cannot own a %s, which has none; { owner = false } "
            .. "writes it without an owner", call, tostring(object), kind.kind)
    elseif namespace ~= object.namespace then
        misuse("%s: %s cannot own a %s in the namespace %s; { owner = false } writes it without "
            .. "an owner", call, tostring(object), kind.kind, tostring(namespace))
    end
end

---Adds the controller reference to the metadata of a document, which may be changed.
---@param metadata table
---@param object kubelua.Object
function owner.add(metadata, object)
    local references = {}
    for _, reference in ipairs(references_of(metadata)) do
        if reference.uid ~= object.uid then
            references[#references + 1] = reference
        end
    end
    references[#references + 1] = owner.reference(object)
    metadata.ownerReferences = references
end

-- The same object as it was before it was deleted and made again.
local function is_former(reference, object)
    return reference.kind == object.kind and reference.name == object.name
        and reference.apiVersion:match("^(.*)/") == object.apiVersion:match("^(.*)/")
end

---What stands in the way of writing an object for its owner: nil, if it controls it; or a message.
---With `adopts` an object is taken that nothing controls, or only a former owner of this name.
---@param existing kubelua.Object
---@param object kubelua.Object the owner
---@param adopts boolean?
---@return string?
function owner.obstacle(existing, object, adopts)
    local reference = owner.controller(existing)
    if reference and reference.uid == object.uid then
        return nil
    elseif not reference then
        return not adopts and tostring(existing) .. " is there, and nothing controls it; "
            .. "{ adopt = true } takes it" or nil
    elseif is_former(reference, object) then
        return not adopts and tostring(existing) .. " is there, and belongs to a former "
            .. tostring(object) .. " (UID " .. tostring(reference.uid) .. "), with which it will "
            .. "go; { adopt = true } takes it" or nil
    end
    return tostring(existing) .. " is there, and is controlled by " .. tostring(reference.kind)
        .. " " .. tostring(reference.name) .. " (UID " .. tostring(reference.uid) .. ")"
end

---The merge patch by which an object is taken: of this version, so that none takes it meanwhile.
---nil: the owner controls it already.
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
