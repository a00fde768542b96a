-- Creates, changes and deletes objects by raw requests, like another client of the cluster;
-- informers under test have to notice. Objects are decoded JSON; failures raise errors.
local core = require "kubelua.core"
local eventually = require "eventually"

local admin = {}
admin.__index = admin

-- resource = { prefix, kind, apiVersion, cluster-scoped }
local PLACES = {
    configmaps = { "/api/v1", "ConfigMap", "v1" },
    pods = { "/api/v1", "Pod", "v1" },
    namespaces = { "/api/v1", "Namespace", "v1", true },
    customresourcedefinitions = {
        "/apis/apiextensions.k8s.io/v1", "CustomResourceDefinition", "apiextensions.k8s.io/v1",
        true,
    },
}

---@param call fun(request: table): integer?, string?, string? as kubelua.Client.call
function admin.new(call)
    return setmetatable({ send = call, places = setmetatable({}, { __index = PLACES }) }, admin)
end

---Registers where a custom resource is served.
function admin:learn(plural, group, kind)
    self.places[plural] = { "/apis/" .. group .. "/v1", kind, group .. "/v1" }
end

---The path of a resource, or of an object.
function admin:path(resource, namespace, name)
    local place = assert(self.places[resource], resource)
    local path = place[1]
    if not place[4] then
        path = path .. "/namespaces/" .. namespace
    end
    path = path .. "/" .. resource
    return name and path .. "/" .. name or path
end

local function request(self, method, target, object)
    local status, body, code = self.send {
        method = method,
        target = target,
        body = object and core.encode(object),
    }
    if not status then
        error(method .. " " .. target .. ": " .. tostring(body) .. " (" .. tostring(code) .. ")", 0)
    end
    return status, body
end

local function expect(self, method, target, object)
    local status, body = request(self, method, target, object)
    if status < 200 or status > 299 then
        error(method .. " " .. target .. ": " .. status .. " " .. body, 0)
    end
    return core.decode(body)
end

---One raw request: status, body.
function admin:request(method, target, object)
    return request(self, method, target, object)
end

---Creates the object; returns it as the server stored it.
function admin:create(resource, namespace, object)
    local place = assert(self.places[resource], resource)
    object.apiVersion = place[3]
    object.kind = place[2]
    return expect(self, "POST", self:path(resource, namespace), object)
end

function admin:get(resource, namespace, name)
    return expect(self, "GET", self:path(resource, namespace, name))
end

---Updates the object: `change(object)` edits the server's current one.
function admin:update(resource, namespace, name, change)
    local object = self:get(resource, namespace, name)
    change(object)
    return expect(self, "PUT", self:path(resource, namespace, name), object)
end

---Deletes the object; it is gone when this returns.
function admin:delete(resource, namespace, name)
    return expect(self, "DELETE",
        self:path(resource, namespace, name) .. "?gracePeriodSeconds=0")
end

---The objects of a namespace as an array, and the version of the list.
function admin:list(resource, namespace)
    local list = expect(self, "GET", self:path(resource, namespace))
    return list.items, list.metadata.resourceVersion
end

---A CustomResourceDefinition whose objects may hold anything; returns when the server serves it.
function admin:define(plural, kind, group)
    self:create("customresourcedefinitions", nil, {
        metadata = { name = plural .. "." .. group },
        spec = {
            group = group,
            scope = "Namespaced",
            names = { plural = plural, singular = kind:lower(), kind = kind },
            versions = core.array {
                {
                    name = "v1",
                    served = true,
                    storage = true,
                    schema = {
                        openAPIV3Schema = {
                            type = "object",
                            ["x-kubernetes-preserve-unknown-fields"] = true,
                        },
                    },
                },
            },
        },
    })
    self:learn(plural, group, kind)
    eventually(function()
        return request(self, "GET", self:path(plural, "default")) == 200
    end, plural .. "." .. group .. " is served")
end

return admin
