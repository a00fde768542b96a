-- The objects that kubelua gateway check has read, by kind, each with the file that it is from.
local balance_settings = require "resty.kubelua.gateway.balance.settings"
local shapes = require "kubelua.cli.gateway.shapes"

local Inventory = {}
Inventory.__index = Inventory

local INGRESS = "networking.k8s.io/v1"
local ROUTES = { Gateway = true, GatewayClass = true, HTTPRoute = true, GRPCRoute = true,
    ReferenceGrant = true, BackendTLSPolicy = true }

-- Kinds of the Gateway API that the gateway does not read, and what to do instead.
local STREAMS = "the gateway serves HTTP and gRPC; write a server of nginx's stream module"
local LISTENERS = "write its listeners into the Gateway"
local UNREAD = { TLSRoute = STREAMS, TCPRoute = STREAMS, UDPRoute = STREAMS,
    ListenerSet = LISTENERS, XListenerSet = LISTENERS,
    XBackendTrafficPolicy = "annotations of the Service choose its balancer and limit its retries" }

-- Kinds of which each object is in the report.
local REPORTED = { Gateway = true, HTTPRoute = true, GRPCRoute = true, BackendTLSPolicy = true }
local GLOBAL = { IngressClass = true, GatewayClass = true, Namespace = true }

---@class kubelua.cli.gateway.Inventory
---@field ingresses table[]
---@field classes table[]
---@field services table[]
---@field secrets table<string, table> by "namespace/name"
---@field secret_count integer
---@field scripts table<string, string> texts with Lua for routes, by "namespace/name"
---@field routes table[] of the Gateway API
---@field other_order string[] "HTTPRoute web/shop": Gateways and routes as they were read, and
---objects of a wrong shape
---@field namespaces table[]
---@field places table<string, string> the file of "Ingress web/shop"
---@field order string[] the Ingresses as they were read
---@field problems kubelua.gateway.Problem[] that show while reading
---@field namespace string of objects without one

---@param namespace string?
---@return kubelua.cli.gateway.Inventory
function Inventory.new(namespace)
    return setmetatable({ ingresses = {}, classes = {}, services = {}, secrets = {},
        secret_count = 0, scripts = {},
        routes = {}, other_order = {}, namespaces = {}, places = {}, order = {},
        problems = {}, namespace = namespace or "default" }, Inventory)
end

local function replace(list, object)
    for i, other in ipairs(list) do
        if other.metadata.namespace == object.metadata.namespace
            and other.metadata.name == object.metadata.name then
            list[i] = object
        end
    end
end

local function add_ingress(self, object, path)
    local title = ("Ingress %s/%s"):format(object.metadata.namespace, object.metadata.name)
    if object.apiVersion ~= INGRESS then
        self.problems[#self.problems + 1] = { object = title, kind = "wrong", path = path,
            message = ("apiVersion %s is not served since Kubernetes 1.22; write %s")
                :format(tostring(object.apiVersion), INGRESS) }
    elseif self.places[title] then
        self.problems[#self.problems + 1] = { object = title, kind = "conflict", path = path,
            message = ("is also in %s; the last one is checked"):format(self.places[title]) }
        self.places[title] = path
        replace(self.ingresses, object)
    else
        self.places[title] = path
        self.order[#self.order + 1] = title
        self.ingresses[#self.ingresses + 1] = object
    end
end

-- What is wrong with an object: its shape, or annotations of a Service's balancer.
local function find_faults(object)
    local problem = shapes.check(object)
    if problem then
        return { problem }, true
    elseif object.kind == "Service" then
        return select(2, balance_settings.read(object.metadata.annotations)), false
    end
    return {}, false
end

-- Adds an object whose shape is right to a list; what is wrong with others is a problem.
local function add_other(self, list, object, path)
    local metadata = object.metadata
    local title = ("%s %s/%s"):format(object.kind, metadata.namespace or "", metadata.name)
    local faults, is_left_out = find_faults(object)
    for _, message in ipairs(faults) do
        self.problems[#self.problems + 1] = { object = title, kind = "wrong", message = message,
            path = path }
    end
    list[#list + 1] = not is_left_out and object or nil
    if (REPORTED[object.kind] or #faults > 0) and not self.places[title] then
        self.places[title] = path
        self.other_order[#self.other_order + 1] = title
    end
end

-- An object of the Gateway API, or of its experiments, that the gateway does not read.
local function add_unread(self, object, path)
    local title = ("%s %s/%s"):format(object.kind, object.metadata.namespace, object.metadata.name)
    self.problems[#self.problems + 1] = { object = title, kind = "unsupported", path = path,
        message = UNREAD[object.kind] or "the gateway does not read objects of this kind" }
    if not self.places[title] then
        self.places[title] = path
        self.other_order[#self.other_order + 1] = title
    end
end

---Adds an object. Kinds that a check does not need are left out.
---@param object table
---@param path string
function Inventory:add(object, path)
    local kind, metadata = object.kind, object.metadata
    if type(metadata) ~= "table" or type(metadata.name) ~= "string" then
        if kind == "Ingress" then
            self.problems[#self.problems + 1] = { object = "Ingress", kind = "wrong", path = path,
                message = "has no name" }
        end
        return
    end
    if type(metadata.namespace) ~= "string" and not GLOBAL[kind] then
        metadata.namespace = self.namespace
    end
    if kind == "Ingress" then
        add_ingress(self, object, path)
    elseif kind == "IngressClass" then
        self.classes[#self.classes + 1] = object
    elseif kind == "Service" and object.apiVersion == "v1" then
        add_other(self, self.services, object, path)
    elseif kind == "Secret" then
        self.secrets[metadata.namespace .. "/" .. metadata.name] = object
        self.secret_count = self.secret_count + 1
    elseif kind == "ConfigMap" then
        local text = type(object.data) == "table" and object.data["route.lua"]
        self.scripts[metadata.namespace .. "/" .. metadata.name] = type(text) == "string" and text
            or nil
    elseif kind == "Namespace" then
        self.namespaces[#self.namespaces + 1] = object
    elseif ROUTES[kind] then
        add_other(self, self.routes, object, path)
    elseif tostring(object.apiVersion):find "^gateway%.networking%.[%w.-]*k8s%.io/" then
        add_unread(self, object, path)
    end
end

return Inventory
