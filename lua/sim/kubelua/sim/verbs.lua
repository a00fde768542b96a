-- get, list, create, apply, update, patch, delete: over anything that carries out a request, such
-- as a simulated cluster or a client. Blocks until it is answered.
local core = require "kubelua.core"
local documents = require "kubelua.sim.documents"
local Kinds = require "kubelua.sim.kinds"
local log = require "kubelua.log"
local options = require "kubelua.options"
local with_query = require "kubelua.sim.query"

---@class kubelua.sim.Verbs
local Verbs = {}
Verbs.__index = Verbs

local CODES = {
    [400] = "bad_request", [401] = "unauthorized", [403] = "forbidden", [404] = "not_found",
    [405] = "method_not_allowed", [409] = "conflict", [410] = "gone", [413] = "too_large",
    [422] = "invalid", [429] = "too_many_requests", [503] = "unavailable", [504] = "timeout",
}

local PATCH_TYPES = {
    merge = "application/merge-patch+json",
    json = "application/json-patch+json",
    strategic = "application/strategic-merge-patch+json",
    apply = "application/apply-patch+yaml",
}

---@param call fun(request: table): integer?, string?, string?, string? status, body, content
---type, warnings that nobody has logged
---@return kubelua.sim.Verbs
function Verbs.new(call)
    return setmetatable({ call = call, kinds = Kinds.new(call) }, Verbs)
end

local function refusal(status, body)
    local ok, answer = pcall(core.decode, body)
    answer = ok and type(answer) == "table" and answer or {}
    local code = answer.reason == "AlreadyExists" and "already_exists" or CODES[status]
        or "internal"
    return nil, answer.message or ("HTTP " .. status .. ": " .. body:sub(1, 200)), code
end

---One request; the decoded answer of one that was carried out.
---@param method string
---@param path string
---@param body any? a table or a text
---@param extra { query: table?, type: string? }?
---@return string? body, string?, string?
function Verbs:request(method, path, body, extra)
    extra = extra or {}
    if body ~= nil and type(body) ~= "string" then
        body = core.encode(body)
    end
    local status, text, code, warnings = self.call {
        method = method, target = with_query(path, extra.query), body = body, type = extra.type,
    }
    if not status then
        return nil, text, code
    elseif status >= 400 then
        return refusal(status, text)
    end
    for line in (warnings or ""):gmatch("[^\n]+") do
        log("warn", "%s %s: %s", method, path, line)
    end
    return text
end

local function answer_object(text, message, code)
    if not text then
        return nil, message, code
    end
    return core.object(text)
end

---Kind, namespace and name of `kind, "ns/name"`, `kind, "name"` or `kind, ns, name`.
---@param call string
---@return kubelua.sim.Kind?, string?, string?
local function locate(self, call, kind, namespace, name)
    if type(name) ~= "string" and type(namespace) == "string" then
        local prefix, rest = namespace:match("^([^/]+)/([^/]+)$")
        namespace, name = prefix, rest or namespace:match("^[^/]+$")
    end
    if type(kind) ~= "string" or type(name) ~= "string" or name == "" then
        error(call .. ": write " .. call .. "(\"pods\", \"namespace/name\")", 3)
    end
    local found, message, code = self.kinds:find(kind)
    if not found then
        return nil, message, code
    end
    return found, found.namespaced and (namespace or "default") or nil, name
end

---The object as it is now.
---@param kind string as lenient as kubectl: "pods", "po", "deployments.apps"
---@param namespace string? or the key, "namespace/name"
---@param name string?
---@return kubelua.Object?, string?, string?
function Verbs:get(kind, namespace, name)
    local found, where, which = locate(self, "get", kind, namespace, name)
    if not found then
        return nil, where, which
    end
    return answer_object(self:request("GET", Kinds.path(found, where, which)))
end

---@param kind string
---@param filter { namespace: string?, labels: string?, fields: string? }?
---@return kubelua.Object[]?, string?, string?
function Verbs:list(kind, filter)
    filter = options.optional("list", filter,
        { namespace = "string", labels = "string", fields = "string" })
    local found, message, code = self.kinds:find(kind)
    if not found then
        return nil, message, code
    end
    local namespace = filter.namespace ~= "*" and filter.namespace or nil
    local text
    text, message, code = self:request("GET", Kinds.path(found, namespace), nil,
        { query = { labelSelector = filter.labels, fieldSelector = filter.fields } })
    if not text then
        return nil, message, code
    end
    local objects = {}
    for i, item in ipairs(core.decode(text).items) do
        item.apiVersion, item.kind = found.api_version, found.kind
        objects[i] = core.object(core.encode(item))
    end
    return objects
end

---Where a document belongs.
---@param document table
---@return kubelua.sim.Kind?, string?, string?
function Verbs:place(document)
    if type(document.kind) ~= "string" or type(document.apiVersion) ~= "string" then
        return nil, "an object needs apiVersion and kind, such as \"v1\" and \"Pod\"", "invalid"
    end
    local found, message, code = self.kinds:of(document.apiVersion, document.kind)
    if not found then
        return nil, message, code
    end
    local metadata = document.metadata or {}
    return found, found.namespaced and (metadata.namespace or "default") or nil, metadata.name
end

local function only(call, object)
    local all, message, code = documents(object)
    if not all then
        return nil, message, code
    elseif #all ~= 1 then
        error(call .. ": one object, not " .. #all, 3)
    end
    return all[1]
end

---Creates an object.
---@param object any a table, a view, or the text of one document
---@return kubelua.Object?, string?, string?
function Verbs:create(object)
    local document, message, code = only("create", object)
    if not document then
        return nil, message, code
    end
    local found, where, which = self:place(document)
    if not found then
        return nil, where, which
    end
    return answer_object(self:request("POST", Kinds.path(found, where), document))
end

---Replaces an object, or its status.
---@param object any
---@param extra { subresource: string? }?
---@return kubelua.Object?, string?, string?
function Verbs:update(object, extra)
    extra = options.optional("update", extra, { subresource = "string" })
    local document, message, code = only("update", object)
    if not document then
        return nil, message, code
    end
    local found, where, which = self:place(document)
    if not found then
        return nil, where, which
    end
    if type(which) ~= "string" then
        error("update: the object needs metadata.name", 2)
    end
    return answer_object(self:request("PUT", Kinds.path(found, where, which, extra.subresource),
        document))
end

---Changes a part of an object.
---@param kind string
---@param key string "namespace/name", or "name"
---@param patch any a table or a text
---@param extra table? type ("merge", "json", "strategic", "apply"), subresource, manager, force
---@return kubelua.Object?, string?, string?
function Verbs:patch(kind, key, patch, extra)
    extra = options.optional("patch", extra, { type = "string", subresource = "string",
        manager = "string", force = "boolean" })
    local found, where, which = locate(self, "patch", kind, key)
    if not found then
        return nil, where, which
    end
    local content_type = PATCH_TYPES[extra.type or "merge"]
    if not content_type then
        error("patch: the type is merge, json, strategic or apply, not " .. extra.type, 2)
    elseif patch == nil then
        error("patch: a table or a text expected, not nil", 2)
    end
    return answer_object(self:request("PATCH", Kinds.path(found, where, which, extra.subresource),
        patch, { type = content_type, query = { fieldManager = extra.manager,
            force = extra.force and "true" or nil } }))
end

---Deletes an object.
---@param kind string
---@param namespace string? or the key, "namespace/name"
---@param name string|table|nil or the options
---@param extra { grace: number?, propagation: string?, uid: string?, resource_version: string? }?
---@return true?, string?, string?
function Verbs:delete(kind, namespace, name, extra)
    extra = options.optional("delete", type(name) == "table" and name or extra, { grace = "number",
        propagation = "string", uid = "string", resource_version = "string" })
    local found, where, which = locate(self, "delete", kind, namespace, name)
    if not found then
        return nil, where, which
    end
    local grace = extra.grace and math.floor(extra.grace)
    local text, message, code = self:request("DELETE", Kinds.path(found, where, which), {
        apiVersion = "v1", kind = "DeleteOptions",
        gracePeriodSeconds = grace, propagationPolicy = extra.propagation,
        preconditions = (extra.uid or extra.resource_version)
            and { uid = extra.uid, resourceVersion = extra.resource_version } or nil,
    })
    if not text then
        return nil, message, code
    end
    return true
end

return Verbs
