-- Finds the keys to reconcile for an event of a source. triggers.lua calls it.
local core = require "kubelua.core"
local misuse = require "kubelua.misuse"

local mapping = {}

local function refuse_result(value)
    error("map returned " .. (type(value) == "table" and "a table that is not a list of keys "
        .. "or objects" or "a " .. type(value)) .. "; return nil, a key, an object, or a list of "
        .. "these", 0)
end

local function check_key(key)
    if key == "" or key:find("%z") then
        error("map returned a key that is empty or has a NUL byte", 0)
    end
    return key
end

-- The key of a value that map returned: a key, an object, or a table in the form of an object.
local function read_key(value)
    if type(value) == "string" then
        return check_key(value)
    elseif core.is_object(value) then
        return value.key
    end
    local metadata = type(value) == "table" and value.metadata
    if type(metadata) ~= "table" or type(metadata.name) ~= "string" then
        refuse_result(value)
    end
    return check_key((metadata.namespace and metadata.namespace .. "/" or "") .. metadata.name)
end

---Adds the keys that a script's map returned to a set: nil, a key, an object, or a list of these.
---Raises on anything else.
---@param keys table<string, true>
---@param value any
function mapping.collect(keys, value)
    if value == nil then
        return
    elseif type(value) ~= "table" or value.metadata ~= nil then
        keys[read_key(value)] = true
        return
    end
    for index in pairs(value) do
        if type(index) ~= "number" then
            refuse_result(value)
        end
    end
    for _, item in ipairs(value) do
        keys[read_key(item)] = true
    end
end

local function group_of(api_version)
    return type(api_version) == "string" and api_version:match("^(.*)/") or ""
end

-- The cached object that an owner reference names: of that group, kind and UID.
local function find_owner(main, reference, namespace)
    local name = reference.name
    if type(name) ~= "string" then
        return nil
    end
    local owner = namespace and main:get(namespace .. "/" .. name) or main:get(name)
    if owner and owner.uid == reference.uid and owner.kind == reference.kind
        and group_of(owner.apiVersion) == group_of(reference.apiVersion) then
        return owner
    end
    return nil
end

---Adds the keys of the owners of an object: of its controller only, or of all owners. An owner that
---is not in the cache is left out: when it appears, it is reconciled anyway.
---@param keys table<string, true>
---@param main kubelua.Informer the cache of the owners
---@param object kubelua.Object
---@param any_owner boolean
function mapping.owners(keys, main, object, any_owner)
    local references = object:get("metadata.ownerReferences") or {}
    for i = 1, #references do
        local reference = references[i]
        if any_owner or reference.controller then
            local owner = find_owner(main, reference, object.namespace)
            if owner then
                keys[owner.key] = true
            end
        end
    end
end

---True if an update matters. `when` decides, except for resyncs, new UIDs and the beginning of a
---deletion, which always matter.
---@param when (fun(old: kubelua.Object, new: kubelua.Object): any)?
---@param old kubelua.Object
---@param new kubelua.Object
---@return boolean
function mapping.passes(when, old, new)
    return not when
        or old.resource_version == new.resource_version
        or old.uid ~= new.uid
        or (new:get("metadata.deletionTimestamp") ~= nil
            and old:get("metadata.deletionTimestamp") == nil)
        or (when(old, new) and true or false)
end

---The key that enqueue was given, or that of the object. Raises if it is neither.
---@param key any
---@return string
function mapping.check_enqueued(key)
    if core.is_object(key) then
        return key.key
    elseif type(key) ~= "string" or key == "" or key:find("%z") then
        misuse("enqueue: a key expected, such as \"web/shop\", or an object; not %s",
            type(key) == "string" and "an empty text or one with a NUL byte" or "a " .. type(key))
    end
    return key
end

return mapping
