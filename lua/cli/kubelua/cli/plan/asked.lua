-- Collects the requests of a script as the authorizer of an API server sees them: verb, resource,
-- namespace, name. Equal requests are one entry, with all lines of the script that have sent one.
local core = require "kubelua.core"

---Equal requests. Without a resource it is a path of no resource, such as /metrics.
---@class kubelua.AskedRequest
---@field verb string
---@field group string? "" is the core group
---@field resource string?
---@field subresource string?
---@field namespace string? nil: all namespaces, or none
---@field name string? of the object; of a list or watch: the one that its field selector selects
---@field path string? of a request for no resource
---@field count integer
---@field lines table<string, true> "script.lua:12", a set
---@field is_apply boolean? a server-side apply of the object itself
---@field is_run boolean? sent by the run of a controller
---@field is_informer boolean? an informer's list or watch
---@field has_uid boolean? a patch that names the UID of the object
---@field names table<string, true> of objects that it creates; "" is a name made by the server
---@field sets_owner boolean? a patch or update with owner references
---@field owners table<string, true> "apps/v1/Deployment": owners whose deletion it may block

---@class kubelua.Asked
---@field by_key table<string, kubelua.AskedRequest>
---@field elsewhere boolean? there were requests to another cluster
local Asked = {}
Asked.__index = Asked

local asked = {}

---@return kubelua.Asked
function asked.new()
    return setmetatable({ by_key = {} }, Asked)
end

local function decode_percents(text)
    return (text:gsub("%%(%x%x)", function(digits)
        return string.char(tonumber(digits, 16))
    end))
end

local function split_path(path)
    local parts = {}
    for part in path:gmatch("[^/]+") do
        parts[#parts + 1] = decode_percents(part)
    end
    return parts
end

local function read_query(query)
    local values = {}
    for name, value in (query or ""):gmatch("([^&=]+)=?([^&]*)") do
        name = decode_percents(name)
        values[name] = values[name] or decode_percents((value:gsub("+", " ")))
    end
    return values
end

-- The parts of a path below the version that belong to a namespace itself, and not to a resource in
-- it (apiserver/pkg/endpoints/request, requestinfo.go).
local OF_NAMESPACE = { status = true, finalize = true }

-- Where the parts of a resource begin in a path; nil: it is a path of no resource.
local function find_resource(parts)
    if parts[1] == "api" and #parts > 2 then
        return "", 3
    elseif parts[1] == "apis" and #parts > 3 then
        return parts[2], 4
    end
end

local function read_path(path)
    local parts = split_path(path)
    local group, at = find_resource(parts)
    if not group then
        return { path = path }
    end
    local found = { group = group }
    if parts[at] == "watch" then
        found.watches, at = true, at + 1
    end
    if parts[at] == "namespaces" and parts[at + 2] and not (OF_NAMESPACE[parts[at + 2]]
        and not parts[at + 3]) then
        found.namespace, at = parts[at + 1], at + 2
    end
    found.resource, found.name, found.subresource = parts[at], parts[at + 1], parts[at + 2]
    return found
end

local VERBS = { POST = "create", PUT = "update", PATCH = "patch", DELETE = "delete" }

-- A list or watch of one object by its name is authorized with that name.
local function read_selected(selector)
    for term in (selector or ""):gmatch("[^,]+") do
        local name = term:match("^metadata%.name==?([^=].*)$")
        if name then
            return (name:gsub("\\(.)", "%1"))
        end
    end
    return nil
end

local function read_verb(found, method, query)
    if not found.resource then
        return method:lower()
    end
    local verb = VERBS[method]
    if verb == "delete" and not found.name then
        return "deletecollection"
    elseif verb then
        return verb
    elseif found.watches or (not found.name and query.watch and query.watch ~= "0"
        and query.watch ~= "false") then
        return "watch"
    end
    return found.name and "get" or "list"
end

-- Every user has the rights for these: to read discovery and the health of the server, and to ask
-- what it may do itself (system:discovery, system:public-info-viewer, system:basic-user).
local FREE = { "^/api$", "^/api/", "^/apis$", "^/apis/", "^/openapi$", "^/openapi/", "^/version/?$",
    "^/healthz$", "^/livez$", "^/readyz$" }
local OWN = { ["authorization.k8s.io"] = true, ["authentication.k8s.io"] = true }

local function is_free(found, verb)
    if found.resource then
        return verb == "create" and OWN[found.group] ~= nil
            and found.resource:find("^selfsubject") ~= nil
    end
    for _, pattern in ipairs(FREE) do
        if verb == "get" and found.path:find(pattern) then
            return true
        end
    end
    return false
end

-- The owner references that a JSON patch sets.
local function patched_references(document)
    local found
    for _, step in ipairs(document) do
        local path = type(step) == "table" and tostring(step.path) or ""
        local value = type(step) == "table" and type(step.value) == "table" and step.value or {}
        if path == "/metadata/ownerReferences" then
            found = value
        elseif path:find("^/metadata/ownerReferences/") then
            found = found or {}
            found[#found + 1] = value
        elseif path == "/metadata" then
            found = value.ownerReferences or found
        end
    end
    return found
end

-- Adds what the body says: the name of a created object, and owners whose deletion it may block.
local function read_body(entry, call)
    local body = call.body or ""
    entry.has_uid = entry.has_uid or call.method == "PATCH" and body:find("\"uid\"", 1, true) ~= nil
    if entry.verb ~= "create" and not body:find("ownerReferences", 1, true) then
        return
    end
    local ok, document = pcall(core.decode, body)
    document = ok and type(document) == "table" and document or {}
    local metadata = type(document.metadata) == "table" and document.metadata or {}
    if entry.verb == "create" then
        entry.names[type(metadata.name) == "string" and metadata.name or ""] = true
    end
    local references = metadata.ownerReferences or patched_references(document)
    if type(references) ~= "table" or references == core.null then
        return
    end
    entry.sets_owner = entry.sets_owner or (entry.verb ~= "create" and not entry.is_apply)
    for _, reference in ipairs(references) do
        if type(reference) == "table" and reference.blockOwnerDeletion == true then
            entry.owners[tostring(reference.apiVersion) .. "/" .. tostring(reference.kind)] = true
        end
    end
end

local FIELDS = { "verb", "group", "resource", "subresource", "namespace", "name", "path" }

local function key_of(found)
    local parts = {}
    for i, field in ipairs(FIELDS) do
        parts[i] = found[field] or ""
    end
    return table.concat(parts, "\0")
end

-- The entry of a request; makes it if it is the first one. The second result is true then.
local function find_or_add(self, found)
    local key = key_of(found)
    local entry = self.by_key[key]
    if entry then
        return entry, false
    end
    entry = { count = 0, lines = {}, owners = {}, names = {} }
    for _, field in ipairs(FIELDS) do
        entry[field] = found[field]
    end
    self.by_key[key] = entry
    return entry, true
end

---Notes a request.
---@param call { method: string, target: string, body: string?, type: string? }
---@param context { line: string?, run: kubelua.RunTag? }
---@return boolean is_new false: there was an equal one, or it needs no right
function Asked:note(call, context)
    local path, query = call.target:match("^([^?]*)%??(.*)$")
    local found, values = read_path(path), read_query(query)
    found.verb = read_verb(found, call.method:upper(), values)
    if is_free(found, found.verb) then
        return false
    elseif found.verb == "list" or found.verb == "watch" then
        found.name = found.name or read_selected(values.fieldSelector)
    end
    local entry, is_new = find_or_add(self, found)
    entry.count = entry.count + 1
    if context.line then
        is_new = is_new or not entry.lines[context.line]
        entry.lines[context.line] = true
    end
    entry.is_run = entry.is_run or context.run ~= nil
    entry.is_apply = entry.is_apply or not found.subresource and call.type ~= nil
        and call.type:find("^application/apply%-patch") ~= nil
    read_body(entry, call)
    return is_new
end

---The namespaces of an informer; false: all of them, or the kind has none.
---@param kind kubelua.Kind
---@param request table its options
---@return (string|false)[]
function asked.namespaces(kind, request)
    local given = request.namespace
    if not kind.namespaced or given == nil or given == "*" then
        return { false }
    end
    return type(given) == "table" and given or { given }
end

---Notes an informer: it lists and watches.
---@param kind kubelua.Kind
---@param request table its options
---@param line string? where the script declares it
function Asked:note_informer(kind, request, line)
    for _, namespace in ipairs(asked.namespaces(kind, request)) do
        for _, verb in ipairs { "list", "watch" } do
            local entry = find_or_add(self, { verb = verb, group = kind.group,
                resource = kind.plural, namespace = namespace or nil,
                name = read_selected(request.fields) })
            entry.count, entry.is_informer = entry.count + 1, true
            if line then
                entry.lines[line] = true
            end
        end
    end
end

---@class kubelua.UnsentRequest
---@field verb string
---@field resource string as the script names it
---@field namespace string?
---@field name string?
---@field line string?
---@field is_run boolean?

---Notes a request that the script would have sent if there had been an object for it.
---@param kind kubelua.Kind
---@param request kubelua.UnsentRequest
function Asked:note_unsent(kind, request)
    local entry = find_or_add(self, { verb = request.verb, group = kind.group,
        resource = kind.plural, namespace = kind.namespaced and request.namespace or nil,
        name = request.name })
    entry.is_run = entry.is_run or request.is_run
    if request.line then
        entry.lines[request.line] = true
    end
end

local function is_before(a, b)
    for _, field in ipairs { "group", "resource", "subresource", "namespace", "name", "path",
        "verb" } do
        local one, other = a[field] or "", b[field] or ""
        if one ~= other then
            return one < other
        end
    end
    return false
end

---All entries, sorted by resource, namespace, name and verb.
---@return kubelua.AskedRequest[]
function Asked:list()
    local all = {}
    for _, entry in pairs(self.by_key) do
        all[#all + 1] = entry
    end
    table.sort(all, is_before)
    return all
end

return asked
