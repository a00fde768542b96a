-- The verbs that delete objects: delete, delete_all, evict.
local replies = require "kubelua.verbs.replies"
local core = require "kubelua.core"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"
local ports = require "kubelua.verbs.ports"
local reading = require "kubelua.verbs.reading"
local targets = require "kubelua.verbs.targets"

local deleting = {}

---@class kubelua.DeleteOptions
---@field propagation? "Foreground"|"Background"|"Orphan" what happens to the objects that it owns
---@field grace? integer seconds; 0: at once
---@field uid? string only the object with this UID
---@field resource_version? string only at this version
---@field dry_run? boolean the server checks it, and deletes nothing
---@field timeout? number seconds of the whole call; default: 30

local DELETE = { propagation = "string", grace = "number", uid = "string",
    resource_version = "string", dry_run = "boolean", timeout = "number" }

local PROPAGATIONS = { Foreground = true, Background = true, Orphan = true }

---The body of a delete; raises if an option is wrong.
---@param call string
---@param given kubelua.DeleteOptions
---@return table
local function build_body(call, given)
    options.choice(call, "propagation", given.propagation, PROPAGATIONS)
    if given.grace and (given.grace < 0 or given.grace % 1 ~= 0) then
        misuse("%s: 'grace' is a whole number of seconds, from 0", call)
    end
    return {
        apiVersion = "v1", kind = "DeleteOptions", gracePeriodSeconds = given.grace,
        propagationPolicy = given.propagation,
        preconditions = { uid = given.uid, resourceVersion = given.resource_version },
        dryRun = given.dry_run and { "All" } or nil,
    }
end

---@param port kubelua.Port
---@param resource string|table
---@param ... any key, or namespace and name; options
---@return kubelua.Object|true|nil, string?, string?, number?
function deleting.delete(port, resource, ...)
    local named, taken = targets.arguments("delete", resource, ...)
    local given = options.optional("delete", (select(taken + 1, ...)), DELETE)
    local body = build_body("delete", given)
    port = ports.bounded(port, given.timeout)
    local target, message, code = targets.find(port, "delete", named)
    if not target then
        return nil, message, code
    end
    local what = "delete " .. targets.tell(target)
    body.preconditions.uid = given.uid or target.uid
    return ports.write(port, { verb = "delete", dry_run = given.dry_run, uid = given.uid }, {
        method = "DELETE", what = "delete", timeout = given.timeout, body = core.encode(body),
    }, target, function(reply)
        return replies.object(reply, what)
    end)
end

---@class kubelua.DeleteAllOptions
---@field namespace string "*": all of them
---@field labels? string a selector, as kubectl's -l
---@field fields? string a selector, as kubectl's --field-selector
---@field propagation? "Foreground"|"Background"|"Orphan" what happens to the objects that they own
---@field grace? integer seconds; 0: at once
---@field dry_run? boolean the server checks it, and deletes nothing
---@field timeout? number seconds of the whole call; default: 30

local DELETE_ALL = { namespace = "string", labels = "string", fields = "string",
    propagation = "string", grace = "number", dry_run = "boolean", timeout = "number" }

-- Deletes a collection: of one namespace, or of a kind without namespaces.
local function delete_collection(port, target, given, body)
    return ports.write(port, { verb = "delete_all", dry_run = given.dry_run }, {
        method = "DELETE", what = "delete_all", timeout = given.timeout, body = body,
        query = { labelSelector = given.labels, fieldSelector = given.fields },
    }, target, function(reply)
        return replies.list(reply, "delete_all " .. target.kind.plural, target.kind)
    end)
end

-- The namespaces that have objects to delete, sorted.
local function list_namespaces(port, target, given)
    local objects, unreadable, code, retry_after = reading.list(port, target.asked, {
        labels = given.labels, fields = given.fields, timeout = given.timeout })
    if not objects then
        return nil, unreadable, code, retry_after
    end
    local namespaces, seen = {}, {}
    local function add_namespace(name)
        if not seen[name] then
            seen[name] = true
            namespaces[#namespaces + 1] = name
        end
    end
    for _, object in ipairs(objects) do
        add_namespace(object.namespace)
    end
    for _, each in ipairs(unreadable or {}) do
        add_namespace(each.key:match "^[^/]*")
    end
    table.sort(namespaces)
    return namespaces
end

---One request deletes the objects of one namespace only. For "*", the objects are listed first, to
---find their namespaces.
---@param port kubelua.Port
---@param resource string
---@param given kubelua.DeleteAllOptions
---@return kubelua.Object[]?, string?, string?, number?
function deleting.delete_all(port, resource, given)
    given = options.optional("delete_all", given, DELETE_ALL)
    if given.namespace == nil then
        misuse("delete_all: name the namespace, as { namespace = \"web\" }; \"*\" is all of them")
    end
    local body = core.encode(build_body("delete_all", given))
    port = ports.bounded(port, given.timeout)
    local target, message, code = targets.collection(port, "delete_all", resource, given.namespace)
    if not target then
        return nil, message, code
    elseif target.namespace or not target.kind.namespaced then
        return delete_collection(port, target, given, body)
    end
    local namespaces, problem, refusal, retry_after = list_namespaces(port, target, given)
    if not namespaces then
        return nil, problem, refusal, retry_after
    end
    local deleted = {}
    for _, namespace in ipairs(namespaces) do
        local objects
        target = { kind = target.kind, asked = target.asked, namespace = namespace }
        objects, problem, refusal, retry_after = delete_collection(port, target, given, body)
        if not objects then
            return nil, "in the namespace " .. namespace .. ": " .. problem, refusal, retry_after
        end
        for _, object in ipairs(objects) do
            deleted[#deleted + 1] = object
        end
    end
    return deleted
end

---@class kubelua.EvictOptions
---@field grace? integer seconds; 0: at once
---@field uid? string only the pod with this UID
---@field dry_run? boolean the server checks it, and evicts nothing
---@field timeout? number seconds of the whole call; default: 30

local EVICT = { grace = "number", uid = "string", dry_run = "boolean", timeout = "number" }

---Sent once only: a 429 (a PodDisruptionBudget does not allow it now) is the reply, and not
---retried.
---@param port kubelua.Port
---@param pod string|table
---@param given kubelua.EvictOptions?
---@return true?, string?, string?, number?
function deleting.evict(port, pod, given)
    local is_key = type(pod) == "string"
    local named = targets.arguments("evict", is_key and "pods" or pod, is_key and pod or nil)
    given = options.optional("evict", given, EVICT)
    local delete_options = build_body("evict", given)
    port = ports.bounded(port, given.timeout)
    local target, message, code = targets.find(port, "evict", named)
    if not target then
        return nil, message, code
    elseif target.kind.plural ~= "pods" then
        misuse("evict: a pod expected, not a %s", target.kind.kind)
    end
    local what = "evict " .. targets.tell(target)
    delete_options.preconditions.uid = given.uid or target.uid
    return ports.write(port, { verb = "evict", dry_run = given.dry_run, uid = given.uid }, {
        method = "POST", what = "evict", subresource = "eviction", timeout = given.timeout,
        no_retry = true, query = { dryRun = given.dry_run and "All" or nil },
        body = core.encode({
            apiVersion = "policy/v1", kind = "Eviction", deleteOptions = delete_options,
            metadata = { name = target.name, namespace = target.namespace },
        }),
    }, target, function(reply)
        local object, problem, refusal, retry_after = replies.object(reply, what)
        return object and true or nil, problem, refusal, retry_after
    end)
end

return deleting
