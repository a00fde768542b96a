-- Finds the caches of a controller that can hold an object, by kind, namespace and selectors; and
-- the cache that a script names.
local core = require "kubelua.core"
local informer_parts = require "kubelua.informer.parts"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"
local sorted_keys = require "kubelua.sorted_keys"

local cache_of = {}

-- The options of a source's informer, which never change.
local function read_request(source)
    if not source.request then
        source.request = informer_parts.request(source.informer)
    end
    return source.request
end

---Identifies the cluster of a client: two clients of one cluster give the same value. Once asked
---for, it is also known after the client is closed.
---@param client kubelua.Client
---@return any
function cache_of.cluster_of(client)
    local state = core.state(client, "kubelua.client")
    if state.cluster == nil then
        state.cluster = state.sim or core.client_server(client)
    end
    return state.cluster
end

---The kind of a source, if it is known: by discovery, or because it is built in.
---@param source kubelua.controller.Source
---@return kubelua.Kind?
function cache_of.kind_of(source)
    local name = source.resource
    return source.kind or not name:find("%z") and core.builtin_kind(name) or nil
end

local function is_kind(source, kind)
    return source.kind and source.kind.group == kind.group and source.kind.plural == kind.plural
end

-- True if a source with these namespaces has the objects of a namespace.
local function has_namespace(wanted, namespace)
    if wanted == nil or wanted == "*" then
        return true
    elseif type(wanted) == "string" then
        return wanted == namespace
    end
    for _, each in ipairs(wanted) do
        if each == "*" or each == namespace then
            return true
        end
    end
    return false
end

-- The sources of a kind, each with its namespaces; `has_all` is true if each has every namespace.
local function find_of_kind(state, kind)
    local found = { sources = {}, namespaces = {}, has_all = true }
    for _, source in pairs(state.sources) do
        if is_kind(source, kind) then
            local wanted = kind.namespaced and read_request(source).namespace or nil
            local at = #found.sources + 1
            found.sources[at], found.namespaces[at] = source, wanted or "*"
            found.has_all = found.has_all and has_namespace(wanted, nil)
        end
    end
    return found
end

-- The same, remembered once the kind of each source is known.
local function of_kind(state, kind)
    local found = state.of_kind[kind]
    if not found then
        found = find_of_kind(state, kind)
        if state.is_listed then
            state.of_kind[kind] = found
        end
    end
    return found
end

---The namespaces of a source, in words: " in web and db", " in all namespaces"; "" for a kind that
---has none.
---@param source kubelua.controller.Source its kind is known
---@return string
function cache_of.tell_namespaces(source)
    local namespace = read_request(source).namespace
    if not source.kind.namespaced then
        return ""
    elseif type(namespace) == "table" then
        return " in " .. table.concat(namespace, ", ")
    end
    return " in " .. (namespace and namespace ~= "*" and namespace or "all namespaces")
end

---The sources of that kind and namespace, with any selectors. Read only.
---@param state kubelua.controller.State
---@param kind kubelua.Kind
---@param namespace string?
---@return kubelua.controller.Source[]
function cache_of.sources(state, kind, namespace)
    local found = of_kind(state, kind)
    if found.has_all then
        return found.sources
    end
    local lacks = false
    for i = 1, #found.sources do
        lacks = lacks or not has_namespace(found.namespaces[i], namespace)
    end
    if not lacks then
        return found.sources -- the usual case: nothing is copied
    end
    local sources = {}
    for i, source in ipairs(found.sources) do
        if has_namespace(found.namespaces[i], namespace) then
            sources[#sources + 1] = source
        end
    end
    return sources
end

---True if a source has no selectors.
---@param source kubelua.controller.Source
---@return boolean
function cache_of.selects_all(source)
    local request = read_request(source)
    return (request.labels or "") == "" and (request.fields or "") == ""
end

---True if a source has neither selectors nor a shard: its cache has all objects of its kind and
---namespace.
---@param source kubelua.controller.Source
---@return boolean
function cache_of.takes_all(source)
    return (read_request(source).shard or "") == "" and cache_of.selects_all(source)
end

-- True if a path may begin with the field status, as in status.phase and ["status"].phase. A quoted
-- name with a backslash is not read any further.
local function may_begin_with_status(path)
    return path:match("^[%[\"']*([^.%[%]\"']*)") == "status" or path:find("\\", 1, true) ~= nil
end

---True if the informer of a source may remove (drop, keep) the status of its objects, or a part.
---@param source kubelua.controller.Source
---@return boolean
function cache_of.lacks_status(source)
    local request = read_request(source)
    local lacks = #(request.keep or {}) > 0
    for _, path in ipairs(request.keep or {}) do
        lacks = lacks and path ~= "status"
    end
    for _, path in ipairs(request.drop or {}) do
        lacks = lacks or may_begin_with_status(path)
    end
    return lacks
end

-- A server compares an absent field as "", false or 0, by its type.
local function equals_field(found, wanted)
    if found == nil then
        return wanted == "" or wanted == "false" or wanted == "0"
    end
    return tostring(found) == wanted
end

-- Tests one term of a field selector: field=value, field==value or field!=value.
local function matches_term(object, term)
    local field, operator, value = term:match("^([^=!]+)(!?=)=?(.*)$")
    if not field then
        return true
    end
    local ok, found = pcall(core.get, object, field)
    return equals_field(ok and found or nil, value) == (operator == "=")
end

-- `fields` is correct: the informer has accepted it.
local function matches_fields(object, fields)
    local text = fields:gsub("\\(.)", function(byte)
        return ("\1%03d"):format(byte:byte())
    end)
    for term in text:gmatch("[^,]+") do
        term = term:gsub("\1(%d%d%d)", function(code)
            return string.char(tonumber(code))
        end)
        if not matches_term(object, term) then
            return false
        end
    end
    return true
end

---True if the selectors and the shard of a source select an object as it is now.
---@param source kubelua.controller.Source
---@param object kubelua.Object
---@return boolean
function cache_of.selects(source, object)
    local request = read_request(source)
    return (not source.share or source.share:has(source, object))
        and ((request.labels or "") == "" or core.matches(object, request.labels) == true)
        and ((request.fields or "") == "" or matches_fields(object, request.fields))
end

-- True if the name means the kind of the source. Asks no server.
local function is_named(source, name)
    local kind = source.kind
    if not kind then
        return false
    end
    local lower, plural, singular = name:lower(), kind.plural:lower(), kind.kind:lower()
    for _, word in ipairs { plural, singular } do
        if lower == word or lower == word .. "." .. kind.group
            or lower == kind.api_version:lower() .. "/" .. word then
            return true
        end
    end
    if kind.short_names and kind.short_names[lower] then
        return true
    end
    local builtin = not name:find("%z") and core.builtin_kind and core.builtin_kind(name)
    return builtin and is_kind(source, builtin) or false
end

local function refuse_name(state, call, name)
    local names = sorted_keys(state.sources)
    if type(name) ~= "string" then
        misuse("%s: the name of a source expected, such as \"%s\", not a %s", call,
            names[1] or "pods", type(name))
    end
    local nearest = options.nearest(name, names)
    misuse("%s: the controller has no cache '%s'%s; add it, as in reads = { \"%s\" }; it has %s",
        call, name, nearest and " (do you mean '" .. nearest .. "'?)" or "", name,
        #names > 0 and table.concat(names, ", ") or "none")
end

---The source that a script names: by its `as`, else by its resource as written, else by another
---name of its kind. Raises if there is none.
---@param state kubelua.controller.State
---@param call string for the message
---@param name string
---@return kubelua.controller.Source
function cache_of.find(state, call, name)
    local found = type(name) == "string" and state.sources[name]
    if found then
        return found
    elseif type(name) ~= "string" then
        refuse_name(state, call, name)
    end
    local words = {}
    for word, source in pairs(state.sources) do
        if source.resource == name or is_named(source, name) then
            found = source
            words[#words + 1] = word
        end
    end
    if #words == 0 then
        refuse_name(state, call, name)
    elseif #words > 1 then
        table.sort(words)
        misuse("%s: '%s' can mean %s: name one of them", call, name,
            table.concat(words, ", "))
    end
    return found
end

return cache_of
