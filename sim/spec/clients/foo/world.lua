-- What the script of changes acts on: a namespace of its own on one API server, with the kind Foo.
-- The controllers under test run against that server as processes of their own.
local core = require "kubelua.core"
local admin = require "admin"
local eventually = require "eventually"

local World = {}
World.__index = World

local CRD = "examples/foos.yaml"
local PLACES = {
    foos = { "/apis/samplecontroller.k8s.io/v1alpha1", "Foo", "samplecontroller.k8s.io/v1alpha1" },
    deployments = { "/apis/apps/v1", "Deployment", "apps/v1" },
    events = { "/api/v1", "Event", "v1" },
}

local function read_crd()
    local file = assert(io.open(CRD))
    local documents = core.decode(assert(core.manifest(file:read("*a"))))
    file:close()
    assert(documents[1].kind == "CustomResourceDefinition", CRD)
    return documents[1]
end

-- Defines the kind Foo, which the server may have already.
local function define(self)
    local status, body = self.hands:request("POST",
        self.hands:path("customresourcedefinitions"), read_crd())
    assert(status == 201 or status == 409, body)
    eventually(function()
        return self.hands:request("GET", self.hands:path("foos", "default")) == 200
    end, "foos are served")
end

---@param call fun(request: table): integer?, string?, string? of an administrator
---@param namespace string a new one
function World.new(call, namespace)
    local self = setmetatable({ hands = admin.new(call), namespace = namespace }, World)
    for plural, place in pairs(PLACES) do
        self.hands.places[plural] = place
    end
    define(self)
    self.hands:create("namespaces", nil, { metadata = { name = namespace } })
    return self
end

---The object, or nil.
function World:get(plural, name)
    local status, body = self.hands:request("GET", self.hands:path(plural, self.namespace, name))
    assert(status == 200 or status == 404, body)
    return status == 200 and core.decode(body) or nil
end

function World:list(plural)
    return (self.hands:list(plural, self.namespace))
end

function World:create(plural, object)
    return self.hands:create(plural, self.namespace, object)
end

---`change(object)` alters the object; it is called again if a controller has written meanwhile.
function World:update(plural, name, change, subresource)
    local path = self.hands:path(plural, self.namespace, name)
    local target = path .. (subresource and "/" .. subresource or "")
    eventually(function()
        local object = self.hands:get(plural, self.namespace, name)
        change(object)
        local status, body = self.hands:request("PUT", target, object)
        assert(status == 200 or status == 409, body)
        return status == 200
    end, plural .. " " .. name .. " is written")
end

---Deletes an object, but not the objects that it owns: there is no garbage collector.
function World:delete(plural, name)
    local uid = self:get(plural, name).metadata.uid
    local target = self.hands:path(plural, self.namespace, name) .. "?propagationPolicy=Background"
    local status, body = self.hands:request("DELETE", target)
    assert(status == 200, body)
    local object = self:get(plural, name) -- a controller may have created another one
    assert(not object or object.metadata.uid ~= uid, name .. " is still there")
end

---Deletes all Foos, for the controllers that run next.
function World:close()
    for _, foo in ipairs(self:list("foos")) do
        self:delete("foos", foo.metadata.name)
    end
end

function World:create_foo(name, deployment, replicas)
    self:create("foos", {
        metadata = { name = name },
        spec = { deploymentName = deployment, replicas = replicas },
    })
end

---Creates a Deployment as another user would; `owner` is a Foo that controls it.
function World:create_deployment(name, owner)
    local labels = { made = "by-hand" }
    self:create("deployments", {
        metadata = {
            name = name,
            ownerReferences = owner and core.array { {
                apiVersion = owner.apiVersion, kind = owner.kind, name = owner.metadata.name,
                uid = owner.metadata.uid, controller = true,
            } },
        },
        spec = {
            replicas = 1,
            selector = { matchLabels = labels },
            template = {
                metadata = { labels = labels },
                spec = { containers = core.array { { name = "x", image = "x:1" } } },
            },
        },
    })
end

---Sets the status that a Deployment controller would set.
function World:make_available(name, replicas)
    self:update("deployments", name, function(deployment)
        deployment.status = {
            replicas = replicas, updatedReplicas = replicas, readyReplicas = replicas,
            availableReplicas = replicas, observedGeneration = deployment.metadata.generation,
        }
    end, "status")
end

---True if the Deployment is controlled by the Foo, and wants so many replicas.
function World:has_deployment(name, foo_name, replicas)
    local deployment, foo = self:get("deployments", name), self:get("foos", foo_name)
    local owner = deployment and (deployment.metadata.ownerReferences or {})[1]
    return owner and foo and owner.uid == foo.metadata.uid and owner.controller == true
        and deployment.spec.replicas == replicas
end

---True if the status of the Foo has so many replicas.
function World:has_status(foo_name, replicas)
    local foo = self:get("foos", foo_name)
    return foo and foo.status ~= nil and foo.status.availableReplicas == replicas
end

---True if there is an event with this reason about the current Foo of this name.
function World:has_event(foo_name, reason)
    local foo = self:get("foos", foo_name)
    for _, event in ipairs(self:list("events")) do
        if event.reason == reason and foo and event.involvedObject.uid == foo.metadata.uid then
            return true
        end
    end
    return false
end

return World
