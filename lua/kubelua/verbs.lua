-- The verbs, methods of a client: requests to the API server, for every kind that it serves. Each
-- returns the object as the server now has it, or nil, message, code, retry_after. The files in
-- verbs/ do the work. A simulated cluster has the same verbs.
local deleting = require "kubelua.verbs.deleting"
local kinds = require "kubelua.kinds"
local logs = require "kubelua.verbs.logs"
local ports = require "kubelua.verbs.ports"
local reading = require "kubelua.verbs.reading"
local waiting = require "kubelua.verbs.waiting"
local writing = require "kubelua.verbs.writing"

local verbs = {}

---Finds a kind by any name that kubectl accepts; for KubeLua's own modules. Waits if the server
---must be asked.
---@param client kubelua.Client
---@param name string
---@return kubelua.Kind?, string?, string?
function verbs.kind(client, name)
    return kinds.find(ports.of(client), name)
end

---@class kubelua.Client
local Client = {}

---Reads an object from the server.
---@param resource string|table as lenient as kubectl: "po", "deployments.apps"
---@param key string? "namespace/name", or "name": in the client's namespace, or cluster-scoped
---@param options kubelua.GetOptions?
---@return kubelua.Object?, string?, string?, number?
---@overload fun(self, resource: string, namespace: string, name: string): kubelua.Object?
function Client:get(resource, key, options, ...)
    return reading.get(ports.of(self), resource, key, options, ...)
end

---Reads all objects that exist now, in pages. An object that cannot be read is left out, logged,
---and named by the second result.
---@param resource string
---@param filter kubelua.ListOptions?
---@return kubelua.Object[]?, kubelua.UnreadableObject[]|string|nil, string?, number?
function Client:list(resource, filter)
    return reading.list(ports.of(self), resource, filter)
end

---Creates an object. metadata.generateName becomes a name before the object is sent.
---@param object table|string a string is one YAML or JSON document
---@param options kubelua.CreateOptions?
---@return kubelua.Object?, string?, string?, number?
function Client:create(object, options)
    return writing.create(ports.of(self), object, options)
end

---Replaces an object, or its status; "conflict" if it has changed since it was read.
---@param object table|string
---@param options kubelua.UpdateOptions?
---@return kubelua.Object?, string?, string?, number?
function Client:update(object, options)
    return writing.update(ports.of(self), object, options)
end

---Server-side apply: sets these fields of an object, and creates it if it does not exist.
---@param object table|string
---@param options kubelua.ApplyOptions?
---@return kubelua.Object?, string?, string?, number?
function Client:apply(object, options)
    return writing.apply(ports.of(self), object, options)
end

---Changes a part of an object: patch("pods", "web/a", { ... }, options), patch(pod, { ... }).
---@param resource string|table
---@param ... any key, patch, kubelua.PatchOptions
---@return kubelua.Object?, string?, string?, number?
---@overload fun(self, resource: string, key: string, patch: any, o: kubelua.PatchOptions?): any
---@overload fun(self, object: table, patch: any, options: kubelua.PatchOptions?): any
function Client:patch(resource, ...)
    return writing.patch(ports.of(self), resource, ...)
end

---Sets the number of replicas: scale("deployments", "web/shop", 3), scale(shop, 3).
---@param resource string|table
---@param ... any key, replicas, kubelua.ScaleOptions
---@return kubelua.Object? scale, string?, string?, number?
---@overload fun(self, resource: string, key: string, replicas: integer): any
---@overload fun(self, object: table, replicas: integer, options: kubelua.ScaleOptions?): any
function Client:scale(resource, ...)
    return writing.scale(ports.of(self), resource, ...)
end

---Deletes an object. Returns true; or the object, if a finalizer or grace period keeps it for now.
---@param resource string|table
---@param key string?
---@param options kubelua.DeleteOptions?
---@return kubelua.Object|true|nil, string?, string?, number?
---@overload fun(self, resource: string, namespace: string, name: string): any
---@overload fun(self, object: table, options: kubelua.DeleteOptions?): any
function Client:delete(resource, key, options, ...)
    return deleting.delete(ports.of(self), resource, key, options, ...)
end

---Deletes all objects in a namespace ("*": in all) that the selectors select; returns them.
---@param resource string
---@param options kubelua.DeleteAllOptions
---@return kubelua.Object[]?, string?, string?, number?
function Client:delete_all(resource, options)
    return deleting.delete_all(ports.of(self), resource, options)
end

---Evicts a pod, if its PodDisruptionBudget allows it; else fails with "too_many_requests", and does
---not retry.
---@param pod string|table the pod, or its key
---@param options kubelua.EvictOptions?
---@return true?, string?, string?, number?
function Client:evict(pod, options)
    return deleting.evict(ports.of(self), pod, options)
end

---Opens the log of a container: `for line in stream:lines() do ... end`, then stream:error().
---@param pod string|table the pod, or its key
---@param options kubelua.LogOptions?
---@return kubelua.LogStream?, string?, string?
function Client:logs(pod, options)
    return logs.open(self, ports.of(self), pod, options)
end

---Waits until an object meets a condition: wait("pods", "web/a", "Ready", 60), wait(pod, f).
---@param resource string|table
---@param ... any key, kubelua.WaitCondition (default: it exists), seconds (default: 30)
---@return kubelua.Object|true|nil, string?, string? true: the object is gone, and that was awaited
function Client:wait(resource, ...)
    return waiting.wait(self, ports.of(self), resource, ...)
end

-- client.lua wraps these, so that the failures of a script's calls are noted. The calls of a
-- run use them as they are: a failure that they settle, such as a conflict, is not the script's.
verbs.methods = Client

return verbs
