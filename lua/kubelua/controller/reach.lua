-- Which of a controller's caches can hold an object: of its kind, in its namespace, chosen by its
-- selectors; and which cache a script means by a name.
local core = require "kubelua.core"
local informer_parts = require "kubelua.informer_parts"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"

local reach = {}

-- What a source's informer was asked for.
local function request_of(source)
    return source.request or informer_parts.request(source.informer)
end

---What a client is connected to; two handles of one cluster have the same. Once it was asked for, a
---closed client has it too.
---@param client kubelua.Client
---@return any
function reach.cluster_of(client)
    local state = core.state(client, "kubelua.client")
    if state.cluster == nil then
        state.cluster = state.sim or core.client_server(client)
    end
    return state.cluster
end

local function is_kind(source, kind)
    return source.kind and source.kind.group == kind.group and source.kind.plural == kind.plural
end

local function has_namespace(source, kind, namespace)
    local wanted = request_of(source).namespace
    if not kind.namespaced or wanted == nil or wanted == "*" then
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

---The sources of that kind and namespace, whatever their selectors choose of it.
---@param state kubelua.controller.State
---@param kind kubelua.Kind
---@param namespace string?
---@return kubelua.controller.Source[]
function reach.sources(state, kind, namespace)
    local found = {}
    for _, source in pairs(state.sources) do
        if is_kind(source, kind) and has_namespace(source, kind, namespace) then
            found[#found + 1] = source
        end
    end
    return found
end

---True if a source takes every object of its kind and namespace.
---@param source kubelua.controller.Source
---@return boolean
function reach.takes_all(source)
    local request = request_of(source)
    return (request.labels or "") == "" and (request.fields or "") == ""
end

-- A server compares absent fields as "", false or 0, by their types.
local function is_value(found, wanted)
    if found == nil then
        return wanted == "" or wanted == "false" or wanted == "0"
    end
    return tostring(found) == wanted
end

-- One term of a field selector: field=value, field==value or field!=value.
local function fits(object, term)
    local field, operator, value = term:match("^([^=!]+)(!?=)=?(.*)$")
    if not field then
        return true
    end
    local ok, found = pcall(core.get, object, field)
    return is_value(ok and found or nil, value) == (operator == "=")
end

-- The text is one that the informer has accepted.
local function fits_fields(object, fields)
    local text = fields:gsub("\\(.)", function(byte)
        return ("\1%03d"):format(byte:byte())
    end)
    for term in text:gmatch("[^,]+") do
        term = term:gsub("\1(%d%d%d)", function(code)
            return string.char(tonumber(code))
        end)
        if not fits(object, term) then
            return false
        end
    end
    return true
end

---True if the source's selectors choose an object as it is.
---@param source kubelua.controller.Source
---@param object kubelua.Object
---@return boolean
function reach.selects(source, object)
    local request = request_of(source)
    return ((request.labels or "") == "" or core.matches(object, request.labels) == true)
        and ((request.fields or "") == "" or fits_fields(object, request.fields))
end

-- The name means the kind, without a question to the server.
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

local function names_of(state)
    local names = {}
    for name in pairs(state.sources) do
        names[#names + 1] = name
    end
    table.sort(names)
    return names
end

local function refuse(state, call, name)
    local names = names_of(state)
    if type(name) ~= "string" then
        misuse("%s: the name of a source expected, such as \"%s\", not a %s", call,
            names[1] or "pods", type(name))
    end
    local nearest = options.nearest(name, names)
    misuse("%s: '%s' is not among the controller's caches%s; declare it, as in reads = { \"%s\" }; "
        .. "there %s %s", call, name, nearest and " (do you mean '" .. nearest .. "'?)" or "", name,
        #names == 1 and "is" or "are", #names > 0 and table.concat(names, ", ") or "none")
end

---The source that a script means: by its `as`, else its resource as written, else any other name of
---its kind. Raises where there is none.
---@param state kubelua.controller.State
---@param call string for the message
---@param name string
---@return kubelua.controller.Source
function reach.find(state, call, name)
    local found = type(name) == "string" and state.sources[name]
    if found then
        return found
    elseif type(name) ~= "string" then
        refuse(state, call, name)
    end
    local words = {}
    for word, source in pairs(state.sources) do
        if source.resource == name or is_named(source, name) then
            found = source
            words[#words + 1] = word
        end
    end
    if #words == 0 then
        refuse(state, call, name)
    elseif #words > 1 then
        table.sort(words)
        misuse("%s: '%s' may be any of %s: say which", call, name, table.concat(words, ", "))
    end
    return found
end

return reach
