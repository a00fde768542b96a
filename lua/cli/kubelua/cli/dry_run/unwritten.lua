-- Remembers the objects that a dry run has created and deleted, of which no server knows. When the
-- script reads or writes such an object again, the answer is made here. Lists, caches and other
-- requests show the state of the server.
local core = require "kubelua.core"

---An object in the state in which the dry run has left it; the server has another state.
---@class kubelua.Unwritten.Entry
---@field object table? nil: it was deleted

---@class kubelua.Unwritten
---@field entries table<string, kubelua.Unwritten.Entry> by cluster and object
local Unwritten = {}
Unwritten.__index = Unwritten

local MERGES = { "merge-patch+json", "apply-patch+yaml" }

---@return kubelua.Unwritten
function Unwritten.new()
    return setmetatable({ entries = {} }, Unwritten)
end

---The cluster that a client writes to.
---@param client kubelua.Client
---@return string
function Unwritten.cluster(client)
    return tostring(core.state(client, "kubelua.client").sim or core.client_server(client))
end

local function key_of(client, group, plural, namespace, name)
    return table.concat({ Unwritten.cluster(client), group, plural, namespace or "", name }, "\n")
end

local function find_entry(self, trial, name)
    local path = trial.path
    name = name or path.name
    return name and self.entries[key_of(trial.client, path.group, path.plural, path.namespace,
        name)]
end

local function set_entry(self, trial, name, entry)
    local path = trial.path
    self.entries[key_of(trial.client, path.group, path.plural, path.namespace, name)] = entry
end

-- True if the namespace of a request was created in this dry run.
local function is_namespace_unwritten(self, trial)
    local namespace = trial.path.namespace
    local entry = namespace
        and self.entries[key_of(trial.client, "", "namespaces", nil, namespace)]
    return entry ~= nil and entry.object ~= nil
end

local function name_in(object)
    local metadata = type(object) == "table" and object.metadata
    return type(metadata) == "table" and type(metadata.name) == "string" and metadata.name or nil
end

local function decode_body(trial)
    local body = trial.call.body and core.decode(trial.call.body)
    return type(body) == "table" and body or {}
end

---Notes an object that the server would have created.
---@param trial kubelua.DryRun.Trial
---@param object table
function Unwritten:note_created(trial, object)
    local name = name_in(object)
    if name then
        set_entry(self, trial, name, { object = object })
    end
end

---Notes that an object was deleted, unless the server would delete it later: because of finalizers,
---or because it is a pod or a namespace.
---@param trial kubelua.DryRun.Trial
---@param object table?
function Unwritten:note_deleted(trial, object)
    local metadata = object and object.metadata or {}
    local finalizers = type(metadata) == "table" and metadata.finalizers
    local waits = type(finalizers) == "table" and #finalizers > 0
        or trial.path.plural == "pods" or trial.path.plural == "namespaces"
    local name = name_in(object)
    if name and not waits then
        set_entry(self, trial, name, {})
    end
end

---True if the server cannot answer this write, because it is about what this dry run has created or
---deleted.
---@param trial kubelua.DryRun.Trial
---@return boolean
function Unwritten:concerns(trial)
    if is_namespace_unwritten(self, trial) then
        return true
    elseif trial.path.name then
        return find_entry(self, trial) ~= nil
    end
    local name = name_in(decode_body(trial))
    return name ~= nil and find_entry(self, trial, name) ~= nil
end

local function make_reply(status, object)
    return { status = status, body = core.encode(object), headers = {} }
end

local function make_status(trial, status, reason, message, name)
    local path = trial.path
    return make_reply(status, { apiVersion = "v1", kind = "Status", metadata = {},
        status = status < 400 and "Success" or "Failure", code = status, reason = reason,
        message = message, details = { name = name or path.name, kind = path.plural,
            group = path.group ~= "" and path.group or nil } })
end

local function title_of(trial, name)
    local path = trial.path
    return path.plural .. (path.group ~= "" and "." .. path.group or "") .. " \"" .. name .. "\""
end

local function refuse_missing(trial)
    return make_status(trial, 404, "NotFound", title_of(trial, trial.path.name) .. " not found")
end

---The reply to a read of one such object; nil: the server has to answer.
---@param trial kubelua.DryRun.Trial
---@return kubelua.Reply?
function Unwritten:read(trial)
    local path = trial.path
    local entry = trial.method == "GET" and find_entry(self, trial)
    if not entry or (path.subresource and path.subresource ~= "status")
        or (trial.call.accept or ""):find(";as=", 1, true) then
        return nil
    end
    return entry.object and make_reply(200, entry.object) or refuse_missing(trial)
end

-- The merge of RFC 7396.
local function merge(target, patch)
    if type(patch) ~= "table" or patch == core.null or #patch > 0
        or getmetatable(patch) == getmetatable(core.array()) then
        return patch
    end
    local merged = {}
    for name, value in pairs(type(target) == "table" and #target == 0 and target or {}) do
        merged[name] = value
    end
    for name, value in pairs(patch) do
        if value == core.null then
            merged[name] = nil
        else
            merged[name] = merge(merged[name], value)
        end
    end
    return merged
end

local function make_uid()
    local digits = core.random(16)
    return table.concat({ digits:sub(1, 8), digits:sub(9, 12), digits:sub(13, 16),
        digits:sub(17, 20), digits:sub(21, 32) }, "-")
end

-- Creates an object that the server cannot check: it is kept as it was sent.
local function create(self, trial)
    local path, object = trial.path, decode_body(trial)
    local name = name_in(object)
    local entry = name and find_entry(self, trial, name)
    if not name then
        return make_status(trial, 422, "Invalid", "metadata.name is missing")
    elseif entry and entry.object then
        return make_status(trial, 409, "AlreadyExists", title_of(trial, name) .. " already exists",
            name)
    end
    object.metadata.uid, object.metadata.namespace = make_uid(), path.namespace
    set_entry(self, trial, name, { object = object })
    return make_reply(201, object), nil, object
end

local function make_scale(object)
    local metadata, spec = object.metadata, type(object.spec) == "table" and object.spec or {}
    return { apiVersion = "autoscaling/v1", kind = "Scale", metadata = { name = metadata.name,
        namespace = metadata.namespace, uid = metadata.uid }, spec = { replicas = spec.replicas } }
end

-- The object after a PUT or PATCH; nil, and why not.
local function change(trial, object)
    local path, body, kind = trial.path, decode_body(trial), trial.call.type or ""
    local can_merge = trial.method == "PUT"
    for _, merged in ipairs(MERGES) do
        can_merge = can_merge or kind:find(merged, 1, true) ~= nil
    end
    if not can_merge then
        return nil, "a patch of the type " .. kind .. " can be carried out by the server only"
    elseif path.subresource == "scale" then
        local spec = type(body.spec) == "table" and body.spec or {}
        return merge(object, { spec = { replicas = spec.replicas } })
    elseif path.subresource == "status" then
        return merge(object, { status = body.status })
    elseif trial.method == "PUT" then
        body.status = object.status
        return merge(body, { metadata = { uid = object.metadata.uid, name = path.name,
            namespace = path.namespace } })
    end
    local after = merge(object, body)
    return type(after) == "table" and name_in(after) == path.name and after or nil,
        "this patch leaves no object of that name"
end

---Answers a write that `concerns` is true for. The second and third results are the object before
---and after it, if it changes.
---@param trial kubelua.DryRun.Trial
---@return kubelua.Reply
---@return table? before
---@return table? after
function Unwritten:answer(trial)
    local path, entry = trial.path, find_entry(self, trial)
    local before = entry and entry.object
    if not path.name then
        return create(self, trial)
    elseif not before and trial.verb == "apply" and not path.subresource then
        return create(self, trial)
    elseif not before then
        return refuse_missing(trial)
    elseif trial.method == "DELETE" or path.subresource == "eviction" then
        set_entry(self, trial, path.name, {})
        return make_status(trial, 200), before, nil
    end
    local after, problem = change(trial, before)
    if not after then
        return make_status(trial, 400, "BadRequest", title_of(trial, path.name)
            .. " exists only in this dry run: " .. problem)
    end
    set_entry(self, trial, path.name, { object = after })
    local shown = path.subresource == "scale" and make_scale(after) or after
    return make_reply(200, shown), before, after
end

return Unwritten
