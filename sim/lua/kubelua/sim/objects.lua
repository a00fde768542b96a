-- The verbs of a simulated cluster, for the administrator: the verbs of clients, but their requests
-- bypass faults and tokens, and are not recorded.
local replies = require "kubelua.verbs.replies"
local core = require "kubelua.core"
local deleting = require "kubelua.verbs.deleting"
local documents = require "kubelua.verbs.documents"
local kinds = require "kubelua.kinds"
local log = require "kubelua.log"
local query = require "kubelua.query"
local reading = require "kubelua.verbs.reading"
local requests = require "kubelua.requests"
local simcore = require "kubelua.simcore"
local targets = require "kubelua.verbs.targets"
local writing = require "kubelua.verbs.writing"

-- Names, arguments and results are those of a client's verbs: lua/kubelua/verbs.lua.
---@class kubelua.Sim
---@field get fun(self, resource: any, ...: any): kubelua.Object?, string?, string?
---@field list fun(self, resource: string, filter: kubelua.ListOptions?): kubelua.Object[]?
---@field create fun(self, object: any, options: kubelua.CreateOptions?): kubelua.Object?
---@field update fun(self, object: any, options: kubelua.UpdateOptions?): kubelua.Object?
---@field patch fun(self, resource: any, ...: any): kubelua.Object?, string?, string?
---@field scale fun(self, resource: any, ...: any): kubelua.Object?, string?, string?
---@field delete_all fun(self, resource: string, o: kubelua.DeleteAllOptions): kubelua.Object[]?
---@field evict fun(self, pod: any, options: kubelua.EvictOptions?): true?, string?, string?
local objects = {}

-- Carries out a request at once; no events are dispatched meanwhile.
local function carry_out(sim, call)
    local headers = call.headers or {}
    local function exchange(given)
        local status, body, kind, warnings = simcore.call(sim, given)
        if not status then
            return nil, body, kind
        end
        for line in (status < 400 and warnings or ""):gmatch("[^\n]+") do
            log("warn", "%s %s: %s", call.method, call.path, line)
        end
        return { status = status, body = body, headers = { ["content-type"] = kind } }
    end
    local given = {
        method = call.method, target = query.target(call.path, call.query), body = call.body,
        type = call.type or headers["Content-Type"], accept = headers.Accept,
    }
    if requests.webhooks then
        return require("kubelua.sim.webhooks").send(sim, given, exchange)
    end
    return exchange(given)
end

---The port of a cluster.
---@param sim kubelua.Sim
---@return kubelua.Port
local function port_of(sim)
    local state = simcore.state(sim)
    if not state.port then
        state.port = {
            namespace = "default", young = 0,
            send = function(call) return carry_out(sim, call) end,
        }
    end
    return state.port
end

---Creates or replaces the objects in a text of YAML or JSON documents. Their status, uid and
---creationTimestamp are kept.
---@param text string
---@return true?, string?, string?
function objects:load(text)
    if type(text) ~= "string" then
        error("load: the text of a manifest expected, not a " .. type(text)
            .. "; objects go to cluster:apply", 2)
    end
    return simcore.load(self, text)
end

-- Creates an object with its status, as an administrator's manifest says. A load only returns a
-- message if the server refuses the object; a dry run gives the code.
local function load_object(self, document, target)
    local text = core.encode(document)
    if requests.webhooks then
        local refusal, allowed = require("kubelua.sim.webhooks").admit(self, { method = "POST",
            target = kinds.path(target.kind, target.namespace), body = text, loads = true })
        if refusal then
            return replies.refusal(refusal)
        end
        text = allowed.body
    end
    local ok, message, code = simcore.load(self, text)
    if not ok and code == "invalid_argument" then
        local _, _, refusal = writing.create(port_of(self), document, { dry_run = true })
        code = refusal or code
    end
    if not ok then
        return nil, message, code
    end
    return reading.get(port_of(self), target.asked, target.namespace or target.name,
        target.namespace and target.name or nil)
end

-- Merges a document into an existing object; its status is sent in a second request.
local function merge_object(self, target, document)
    local rest = {}
    for name, value in pairs(document) do
        rest[name] = value
    end
    local status = target.kind.has_status and rest.status or nil
    if target.kind.has_status then
        rest.status = nil
    end
    local key = (target.namespace and target.namespace .. "/" or "") .. target.name
    local object, message, code = writing.patch(port_of(self), target.asked, key, rest)
    if object and status then
        return writing.patch(port_of(self), target.asked, key, { status = status },
            { subresource = "status" })
    end
    return object, message, code
end

local function apply_one(self, document)
    document = type(document) == "table" and document or core.view_table(document)
    local target, message, code = targets.of_object(port_of(self), document)
    if not target then
        return nil, message, code
    elseif not target.name then
        return writing.create(port_of(self), document)
    end
    local reply, present
    reply, message, code = port_of(self).send { method = "GET",
        path = kinds.path(target.kind, target.namespace, target.name) }
    if reply then
        present, message, code = replies.object(reply, "apply", target.kind.kind)
    end
    if not present and code ~= "not_found" then
        return nil, message, code
    elseif not present or target.uid and target.uid ~= present.uid then
        return load_object(self, document, target)
    end
    return merge_object(self, target, document)
end

---Without options: creates an object, or changes the one of that name. Given fields are merged into
---it (kubelua.null removes one, arrays are replaced), also its status. If the document has another
---uid, the old object is replaced. With options: server-side apply of one object, as client:apply.
---@param object any a table, a view, or a text of YAML or JSON documents
---@param options kubelua.ApplyOptions?
---@return kubelua.Object? object its new state; one for each document
---@return any ... the next ones; or message, code
function objects:apply(object, options)
    if options ~= nil then
        return writing.apply(port_of(self), object, options)
    end
    local all, message, code = documents.all("apply", object)
    if not all then
        return nil, message, code
    end
    local applied = {}
    for i, document in ipairs(all) do
        applied[i], message, code = apply_one(self, document)
        if not applied[i] then
            return nil, message, code
        end
    end
    return (table.unpack or unpack)(applied, 1, #all)
end

---Like client:delete; also true for an object that a finalizer keeps.
---@return true?, string?, string?
function objects:delete(...)
    local object, message, code = deleting.delete(port_of(self), ...)
    if object then
        return true
    end
    return nil, message, code
end

for name, verb in pairs {
    get = reading.get, list = reading.list, create = writing.create, update = writing.update,
    patch = writing.patch, scale = writing.scale, delete_all = deleting.delete_all,
    evict = deleting.evict,
} do
    objects[name] = function(self, ...)
        return verb(port_of(self), ...)
    end
end

return objects
