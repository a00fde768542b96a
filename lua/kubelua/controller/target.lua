-- Finds the object that a call of a run is about: in the caches, if they hold all objects of that
-- kind and namespace; else on the server.
local cache_of = require "kubelua.controller.cache_of"
local core = require "kubelua.core"
local misuse = require "kubelua.misuse"
local ports = require "kubelua.verbs.ports"
local reading = require "kubelua.verbs.reading"
local targets = require "kubelua.verbs.targets"
local verbs = require "kubelua.verbs"

local target = {}

local function make_key(kind, namespace, name)
    return kind.namespaced and namespace .. "/" .. name or name
end

local LIVE = { managed_fields = true }

---Reads the object of a document from the server, with its managed fields.
---@param run kubelua.controller.Inside
---@param kind kubelua.Kind
---@param document table
---@return kubelua.Object?, string?, string?, number?
function target.live(run, kind, document)
    local port = ports.of(run.state.client)
    local asked, message, code = targets.of_kind(port, kind, kind.api_version .. "/" .. kind.kind,
        document)
    if not asked then
        return nil, message, code
    end
    asked.uid = nil -- another object of that name is looked for, too
    return reading.of_target(port, asked, LIVE)
end

-- Looks a key up in the caches: the object; false: it does not exist; nil: the caches cannot know.
local function find_cached(run, call, kind, namespace, name)
    local key, found = make_key(kind, namespace, name), nil
    for _, source in ipairs(cache_of.sources(run.state, kind, namespace)) do
        local ok, message, code = run.state.writes:wait_key(call, source, key)
        if not ok then
            return nil, message, code
        end
        local object = source.informer:get(key)
        if object then
            return object
        elseif cache_of.takes_all(source) and source.informer:has_synced() then
            found = false
        end
    end
    return found
end

---The object of a document, if it exists: from a cache that has all objects of its kind and
---namespace, else from the server.
---@param run kubelua.controller.Inside
---@param call string for messages
---@param kind kubelua.Kind
---@param document table
---@return kubelua.Object?, string?, string?, number?
function target.known(run, call, kind, document)
    local metadata = document.metadata
    local object, message, code = find_cached(run, call, kind, metadata.namespace, metadata.name)
    if object then
        return object
    elseif object == false then
        return nil, "no cache has it", "not_found"
    elseif code then
        return nil, message, code
    end
    return target.live(run, kind, document)
end

local function is_object(value)
    return core.is_object(value) or (type(value) == "table" and type(value.kind) == "string"
        and type(value.metadata) == "table" and value.metadata.name ~= nil)
end

-- The object of a resource and a key, as the verbs take it, with the UID that a cache has.
local function read_key(run, call, resource, key)
    if type(key) ~= "string" or not key:find("^[^/]+$") and not key:find("^[^/]+/[^/]+$") then
        misuse("%s: write %s(\"pods\", \"namespace/name\"), or give it an object%s", call, call,
            type(key) == "string" and "; \"" .. key .. "\" is not a key" or "")
    end
    local kind, message, code = verbs.kind(run.state.client, resource)
    if not kind then
        return nil, message, code
    end
    local namespace, name = key:match("^([^/]*)/(.*)$")
    local metadata = { namespace = namespace, name = name or key }
    if kind.namespaced then
        metadata.namespace = namespace or run.state.client:namespace()
    end
    if kind.namespaced or not namespace then
        local object
        object, message, code = find_cached(run, call, kind, metadata.namespace, metadata.name)
        if code then
            return nil, message, code
        elseif object then
            metadata.uid, metadata.resourceVersion = object.uid, object.resource_version
        end
    end
    return { apiVersion = kind.api_version, kind = kind.kind, metadata = metadata }
end

---The arguments of a patch: (patch, options), (object, patch, options) or (resource, key, patch,
---options). Returns the object, the patch and the options; nil, message, code if there is no such
---kind.
---@param run kubelua.controller.Inside
---@param call string for messages
---@param ... any
---@return table|kubelua.Object|nil, any, any
function target.of_patch(run, call, ...)
    local first, second, third, fourth = ...
    if type(first) == "string" then
        local meant, message, code = read_key(run, call, first, second)
        if not meant then
            return nil, message, code
        end
        return meant, third, fourth
    elseif is_object(first) and (core.is_object(first) or select("#", ...) > 1) then
        return first, second, third
    elseif type(first) ~= "table" and not core.is_view(first) then
        misuse("%s: a table expected, for the object of this run, or a target before it; not a %s",
            call, type(first))
    elseif not run.object then
        misuse("%s: this run has no object; name the one that is meant", call)
    end
    return run.object, first, second
end

---The arguments of a delete: (object, options) or (resource, key, options).
---@param run kubelua.controller.Inside
---@param call string for messages
---@param ... any
---@return table|kubelua.Object|nil, any, string?
function target.of_delete(run, call, ...)
    local first, second, third = ...
    if type(first) == "string" then
        local meant, message, code = read_key(run, call, first, second)
        if not meant then
            return nil, message, code
        end
        return meant, third
    elseif not is_object(first) then
        misuse("%s: which object? Give it one, or a resource and a key, not a %s", call,
            type(first))
    end
    return first, second
end

---The UID of an object, if it is known.
---@param meant table
---@return string?
function target.uid(meant)
    return meant.metadata.uid
end

---The version of an object; raises if it has none.
---@param meant table
---@param call string for messages
---@return string
function target.version(meant, call)
    local version = meant.metadata.resourceVersion
    if type(version) ~= "string" then
        misuse("%s: 'lock' needs an object that was read, which has a resourceVersion", call)
    end
    return version
end

return target
