-- What the controllers of a simulated cluster share: a cache of each resource, writes that the
-- caches are waited for, and queues of keys. Made of KubeLua's public interface only: it shows how
-- a controller is written.
local kubelua = require "kubelua"

---@class kubelua.sim.World
---@field options kubelua.sim.Controllers
---@field pods kubelua.Informer
---@field nodes kubelua.Informer
---@field replicasets kubelua.Informer
---@field deployments kubelua.Informer
---@field jobs kubelua.Informer
---@field services kubelua.Informer
---@field slices kubelua.Informer
local World = {}
World.__index = World

local FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5 -- seconds between two tries

local function owner(object)
    for _, reference in kubelua.ipairs(object:get("metadata.ownerReferences") or {}) do
        if reference.controller then
            return { reference.uid }
        end
    end
    return {}
end

local CACHES = {
    pods = { "pods", indexes = { owner = owner, node = "spec.nodeName", ip = "status.podIP",
        namespace = "metadata.namespace" } },
    nodes = { "nodes" },
    replicasets = { "replicasets.apps", indexes = { owner = owner } },
    deployments = { "deployments.apps" },
    jobs = { "jobs.batch" },
    services = { "services", indexes = { namespace = "metadata.namespace" } },
    slices = { "endpointslices.discovery.k8s.io" },
}

-- The cache of what a kind's writes change.
local CACHE_OF = {
    Pod = "pods", Node = "nodes", ReplicaSet = "replicasets", Deployment = "deployments",
    Job = "jobs", EndpointSlice = "slices",
}

---@param client kubelua.Client
---@param options kubelua.sim.Controllers
---@return kubelua.sim.World?, string?, string?
function World.new(client, options)
    local self = setmetatable({ options = options, written = {}, deleted = {} }, World)
    self.client = client
    for name, cache in pairs(CACHES) do
        local informer, message, code = client:informer(cache)
        if not informer then
            return nil, message, code
        end
        self[name] = informer
    end
    return self
end

---Ends its caches, and with them what was asked of them.
function World:stop()
    self.stopped = true
    for name in pairs(CACHES) do
        self[name]:stop()
    end
end

---The time of day, as the API writes it.
---@param format string? of os.date
---@return string
function World:time(format)
    return os.date(format or "!%Y-%m-%dT%H:%M:%SZ", math.floor(self.options.now()))
end

-- Remembers the version that a cache has to reach.
local function note(self, object, message, code)
    if not object then
        return nil, message, code
    end
    local cache = CACHE_OF[object.kind]
    if cache then
        local version = tonumber(object.resource_version)
        self.written[cache] = math.max(self.written[cache] or 0, version)
    end
    return object
end

---@param object table
---@return kubelua.Object?, string?, string?
function World:create(object)
    return note(self, self.client:create(object))
end

---Merges into an object.
---@param object kubelua.Object
---@param patch table
---@return kubelua.Object?, string?, string?
function World:patch(object, patch)
    return note(self, self.client:patch(object.apiVersion .. "/" .. object.kind, object.key, patch))
end

---Merges into an object's status.
---@param object kubelua.Object
---@param status table
---@return kubelua.Object?, string?, string?
function World:status(object, status)
    return note(self, self.client:patch(object.apiVersion .. "/" .. object.kind, object.key,
        { status = status }, { subresource = "status" }))
end

---Deletes this very object, not another one of its name.
---@param object kubelua.Object
---@param grace number?
---@return true?, string?, string?
function World:delete(object, grace)
    self.deleted[object.uid] = true
    local ok, message, code = self.client:delete(object, { grace = grace })
    if not ok and code ~= "not_found" and code ~= "conflict" then
        return nil, message, code
    end
    return true
end

---Gives a pod its node.
---@param pod kubelua.Object
---@param node string
---@return true?, string?, string?
function World:bind(pod, node)
    local reply, message, code = self.client:request {
        method = "POST",
        path = ("/api/v1/namespaces/%s/pods/%s/binding"):format(pod.namespace, pod.name),
        body = {
            apiVersion = "v1", kind = "Binding",
            metadata = { name = pod.name, namespace = pod.namespace, uid = pod.uid },
            target = { apiVersion = "v1", kind = "Node", name = node },
        },
    }
    if not reply then
        return nil, message, code
    end
    return true
end

---Whether an object is still meant to be: nobody has deleted it, not even a moment ago.
---@param object kubelua.Object
---@return boolean
function World:lives(object)
    return not object:get("metadata.deletionTimestamp") and not self.deleted[object.uid]
end

-- Waits until the caches show all that was written here: no decision is made on less.
local function catch_up(self)
    for cache, version in pairs(self.written) do
        local informer = self[cache]
        while not self.stopped and (tonumber(informer:resource_version()) or version) < version do
            kubelua.sleep(0.001)
        end
    end
end

-- One key, until there is nothing left to do for it.
local function work(self, queue, key)
    local pause = FIRST_PAUSE
    repeat
        queue.state[key] = "running"
        catch_up(self)
        local ok, again, message = pcall(queue.reconcile, key)
        message = not ok and again or message
        if message and not self.stopped then
            kubelua.log(pause == FIRST_PAUSE and "info" or "debug", "%s %s: %s; again in %g s",
                queue.name, key, message, pause)
            kubelua.sleep(pause)
            pause = math.min(pause * 2, LONGEST_PAUSE)
            queue.state[key] = "again"
        elseif ok and type(again) == "number" then
            kubelua.spawn(function()
                kubelua.sleep(again)
                queue.add(key)
            end)
        end
    until queue.state[key] ~= "again" or self.stopped
    queue.state[key] = nil
end

---A queue of keys: each is reconciled in a coroutine of its own, never twice at once, and once more
---if it was added meanwhile. `reconcile` returns a number: again in so many seconds; nil and a
---message: again, with growing pauses; or anything else: done.
---@param name string for the log
---@param reconcile fun(key: string): any, string?
---@return fun(key: string) add
function World:queue(name, reconcile)
    local queue = { name = name, reconcile = reconcile, state = {} }
    function queue.add(key)
        if self.stopped or queue.state[key] == "waiting" then
            return
        elseif queue.state[key] then
            queue.state[key] = "again"
            return
        end
        queue.state[key] = "waiting"
        kubelua.spawn(work, self, queue, key)
    end
    return queue.add
end

World.CACHES = CACHES

return World
