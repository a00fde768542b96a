-- Finds the keys to reconcile for an event of a source. triggers.lua calls it.
local core = require "kubelua.core"
local misuse = require "kubelua.misuse"

local mapping = {}

local function refuse_result(value)
    error("map returned " .. (type(value) == "table" and "a table that is not a list of keys "
        .. "or objects" or "a " .. type(value)) .. "; return nil, a key, an object, or a list of "
        .. "these", 0)
end

local function group_of(api_version)
    return type(api_version) == "string" and api_version:match("^(.*)/") or ""
end

-- True if an object, or a table in the form of one, can be of the kind.
local function is_of_kind(kind, object)
    local name, version = object.kind, object.apiVersion
    return (name == nil or name == kind.kind)
        and (version == nil or group_of(version) == kind.group)
end

local function name_object(object)
    if core.is_object(object) then
        return tostring(object)
    end
    local metadata = object.metadata
    return object.kind .. " " .. (metadata.namespace and metadata.namespace .. "/" or "")
        .. metadata.name
end

-- The key of an object, or of a table in the form of one; nil: it has not that form.
local function key_of(value)
    if core.is_object(value) then
        return value.key
    end
    local metadata = type(value) == "table" and value.metadata
    if type(metadata) ~= "table" or type(metadata.name) ~= "string" then
        return nil
    end
    return (metadata.namespace and metadata.namespace .. "/" or "") .. metadata.name
end

---Says why a value can mean no object of a kind; nil: it can mean one. It is a key, an object, or a
---table in the form of one.
---@param kind kubelua.Kind
---@param value any
---@param joint string between the value and what is wrong with it
---@return string?
function mapping.problem(kind, value, joint)
    if type(value) ~= "string" and not is_of_kind(kind, value) then
        return name_object(value) .. joint .. " is not a " .. kind.kind .. " of "
            .. kind.api_version
    end
    local key = type(value) == "string" and value or key_of(value)
    if key:find(kind.namespaced and "^[^/]+/[^/]+$" or "^[^/]+$") then
        return nil
    end
    return string.format("\"%s\"%s is no key of a %s: write \"%s\"", key, joint, kind.kind,
        kind.namespaced and "namespace/name" or "name")
end

-- Adds the key of a value that map returned. Returns what is wrong with it instead.
local function add_key(keys, kind, value)
    local key = type(value) == "string" and value or key_of(value)
    if not key then
        refuse_result(value)
    elseif key == "" or key:find("%z") then
        return "map returned a key that is empty or has a NUL byte"
    end
    local problem = kind and mapping.problem(kind, value, ", which")
    if problem then
        return "map returned " .. problem
    end
    keys[key] = true
end

---Adds the keys that a script's map returned to a set: nil, a key, an object, or a list of these.
---Raises on anything else. Returns what is wrong with a key; the others are added all the same.
---@param keys table<string, true>
---@param kind kubelua.Kind? the kind of the objects; nil: any text is a key
---@param value any
---@return string? problem
function mapping.collect(keys, kind, value)
    if value == nil then
        return nil
    elseif type(value) ~= "table" or value.metadata ~= nil then
        return add_key(keys, kind, value)
    end
    for index in pairs(value) do
        if type(index) ~= "number" then
            refuse_result(value)
        end
    end
    local problem
    for _, item in ipairs(value) do
        problem = add_key(keys, kind, item) or problem
    end
    return problem
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

---The key that enqueue was given, or that of the object. Raises if it is neither, or if no object
---of the kind can have that key.
---@param kind kubelua.Kind? nil: it is not known yet, or any text is a key
---@param key any
---@return string
function mapping.check_enqueued(kind, key)
    if not core.is_object(key) and (type(key) ~= "string" or key == "" or key:find("%z")) then
        misuse("enqueue: a key expected, such as \"web/shop\", or an object; not %s",
            type(key) == "string" and "an empty text or one with a NUL byte" or "a " .. type(key))
    end
    local problem = kind and mapping.problem(kind, key, "")
    if problem then
        misuse("enqueue: %s", problem)
    end
    return core.is_object(key) and key.key or key
end

return mapping
