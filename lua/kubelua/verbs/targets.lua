-- Finds the target of a verb: a resource and a key; or an object, which is then identified by its
-- UID.
local core = require "kubelua.core"
local kinds = require "kubelua.kinds"
local misuse = require "kubelua.misuse"

local targets = {}

---@class kubelua.Target
---@field kind kubelua.Kind
---@field asked string the name by which the kind was asked for
---@field namespace string?
---@field name string?
---@field uid string? the UID of the object that was given

---True if the name can be a segment of a path. No kind allows other names.
---@param name string
---@return boolean
local function is_name(name)
    return name ~= "" and name ~= "." and name ~= ".." and not name:find("[/%%%c]")
end

local function is_namespace(name)
    return #name <= 63 and name:find("^[a-z0-9]$") ~= nil
        or #name <= 63 and name:find("^[a-z0-9][a-z0-9-]*[a-z0-9]$") ~= nil
end

local function refuse_argument(message, ...)
    return nil, message:format(...), "invalid_argument"
end

-- The target with these names, if they are correct.
local function check_names(port, target, namespace, name)
    local kind = target.kind
    if name ~= nil and not is_name(name) then
        return refuse_argument("%q cannot be the name of one of the %s: a name is a text "
            .. "without a slash", name, kind.plural)
    elseif kind.namespaced then
        namespace = namespace or port.namespace
        if not is_namespace(namespace) then
            return refuse_argument("%q cannot be a namespace, which is one name of lower-case "
                .. "letters, digits and dashes", namespace)
        end
    elseif namespace ~= nil then
        return refuse_argument("%s belong to the cluster and have no namespace: write %q, not %q",
            kind.plural, name or "", namespace .. "/" .. (name or ""))
    end
    target.namespace, target.name = namespace, name
    return target
end

-- A field of a table or a view, if it is a string.
local function read_text(owner, field)
    local value = owner and owner[field]
    return type(value) == "string" and value or nil
end

-- The metadata of an object, if its names are texts.
local function read_metadata(object)
    local metadata = object.metadata
    metadata = metadata == nil and {} or metadata
    if type(metadata) ~= "table" and not core.is_view(metadata) then
        return refuse_argument("an object's metadata is a table, such as { name = \"shop\" }")
    elseif metadata.name ~= nil and type(metadata.name) ~= "string"
        or metadata.namespace ~= nil and type(metadata.namespace) ~= "string" then
        return refuse_argument("metadata.name and metadata.namespace are texts")
    end
    return metadata
end

local function make_target(port, kind, asked, metadata)
    return check_names(port, { kind = kind, asked = asked, uid = read_text(metadata, "uid") },
        read_text(metadata, "namespace"), read_text(metadata, "name"))
end

---The target that an object of a known kind is. It may have no name yet.
---@param port kubelua.Port
---@param kind kubelua.Kind
---@param asked string the name by which the kind was found
---@param object table
---@return kubelua.Target?, string?, string?
function targets.of_kind(port, kind, asked, object)
    local metadata, message, code = read_metadata(object)
    if not metadata then
        return nil, message, code
    end
    return make_target(port, kind, asked, metadata)
end

---The target that an object is. It may have no name yet.
---@param port kubelua.Port
---@param object table
---@return kubelua.Target?, string?, string?
function targets.of_object(port, object)
    local api_version, kind = object.apiVersion, object.kind
    if type(api_version) ~= "string" or type(kind) ~= "string" or api_version == ""
        or kind == "" then
        return refuse_argument("an object needs apiVersion and kind, such as \"v1\" and \"Pod\"")
    end
    local metadata, message, code = read_metadata(object)
    if not metadata then
        return nil, message, code
    end
    local asked = api_version .. "/" .. kind
    local found
    found, message, code = kinds.find(port, asked)
    if not found then
        return nil, message, code
    end
    return make_target(port, found, asked, metadata)
end

local function is_object(value)
    return type(value) == "table" or core.is_object(value)
end

---Reads the first arguments of a verb: { object =, resource =, namespace =, name = }, and how many
---arguments after the first belong to it. They are an object; a resource and a key; or a resource,
---a namespace and a name.
---@param call string
---@param resource any
---@param key any
---@param name any
---@return table named
---@return integer taken
function targets.arguments(call, resource, key, name)
    if is_object(resource) then
        return { object = resource }, 0
    elseif type(resource) ~= "string" then
        misuse("%s: a resource and a key expected, such as \"pods\", \"namespace/name\", or an "
            .. "object; not a %s", call, core.is_view(resource) and "part of an object"
            or type(resource))
    elseif type(key) == "string" and type(name) == "string" then
        core.check_namespace(call, key)
        return { resource = resource, namespace = key, name = name }, 2
    end
    local prefix, rest = tostring(key):match("^([^/]+)/([^/]+)$")
    if type(key) ~= "string" or not rest and not key:find("^[^/]+$") then
        misuse("%s: write %s(\"pods\", \"namespace/name\"), or give it an object%s", call, call,
            type(key) == "string" and "; \"" .. key .. "\" is not a key" or "")
    end
    core.check_namespace(call, prefix)
    return { resource = resource, namespace = prefix, name = rest or key }, 1
end

---Finds the target of these arguments.
---@param port kubelua.Port
---@param call string
---@param named table the result of targets.arguments
---@return kubelua.Target?, string?, string?
function targets.find(port, call, named)
    if named.object then
        local target, message, code = targets.of_object(port, named.object)
        if target and not target.name then
            misuse("%s: the object needs metadata.name", call)
        end
        return target, message, code
    end
    local found, message, code = kinds.find(port, named.resource)
    if not found then
        return nil, message, code
    end
    return check_names(port, { kind = found, asked = named.resource }, named.namespace, named.name)
end

---Finds a collection: a resource in a namespace, or in all of them ("*" or nil).
---@param port kubelua.Port
---@param call string
---@param resource any
---@param namespace string?
---@return kubelua.Target?, string?, string?
function targets.collection(port, call, resource, namespace)
    if type(resource) ~= "string" then
        misuse("%s: a resource expected, such as \"pods\", not a %s", call, type(resource))
    end
    if namespace == "*" then
        namespace = nil
    end
    core.check_namespace(call, namespace)
    local found, message, code = kinds.find(port, resource)
    if not found then
        return nil, message, code
    elseif namespace and not found.namespaced then
        return refuse_argument("%s belong to the cluster: no namespace has them", found.plural)
    end
    return { kind = found, asked = resource, namespace = namespace }
end

targets.is_name = is_name

---The name of a target in messages: "pods web/shop-1".
---@param target kubelua.Target
---@return string
function targets.tell(target)
    return target.kind.plural .. " " .. (target.namespace and target.namespace .. "/" or "")
        .. (target.name or "")
end

return targets
