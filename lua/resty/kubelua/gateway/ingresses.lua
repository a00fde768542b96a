-- The Ingresses in the owner: compiled anew when one of them, a class or a Service has changed;
-- what differs goes to the compiler.
local conditions = require "resty.kubelua.gateway.compile.conditions"
local ingress = require "resty.kubelua.gateway.ingress"

local ingresses = {}

---@class resty.kubelua.gateway.Ingresses
---@field objects table<string, table<string, table>> by kind and key
---@field is_dirty boolean
---@field contributions table<string, table[]>
---@field result kubelua.gateway.IngressResult?
---@field fresh table[] problems that are new
---@field standing table<string, true>
local Ingresses = {}
Ingresses.__index = Ingresses

---@param options resty.kubelua.GatewayOptions
---@param regex (fun(pattern: string): true|nil, string?)? a regular expression can be used
---@return resty.kubelua.gateway.Ingresses
function ingresses.new(options, regex)
    return setmetatable({ objects = { Ingress = {}, IngressClass = {}, Service = {} },
        is_dirty = true, contributions = {}, fresh = {}, standing = {}, written = {},
        addresses = options.addresses,
        options = { controller = options.controller, nginx = options.nginx,
            without_class = options.without_class, regex = regex } }, Ingresses)
end

-- True if only the status, or metadata that is not read, changed: to compile anew costs what all
-- Ingresses cost, and our own status of each comes back as a change.
local function is_same(before, object)
    return conditions.same(before.spec, object.spec)
        and conditions.same(before.metadata.annotations, object.metadata.annotations)
end

---@param kind "Ingress"|"IngressClass"|"Service"
---@param key string
---@param object table? nil: deleted
function Ingresses:set(kind, key, object)
    local before = self.objects[kind][key]
    self.objects[kind][key] = object
    if not before or not object or before.metadata.uid ~= object.metadata.uid
        or not is_same(before, object) then
        self.is_dirty = true
    end
end

local function list_of(map)
    local list = {}
    for _, object in pairs(map) do
        list[#list + 1] = object
    end
    return list
end

local function collect_problems(self, problems)
    local standing = {}
    for _, problem in ipairs(problems) do
        local namespace, name = problem.object:match("^Ingress ([^/]+)/(.+)$")
        local message = (problem.annotation and problem.annotation .. ": " or "")
            .. problem.message
        local key = problem.object .. "\n" .. message
        if namespace and not standing[key] then
            standing[key] = true
            if not self.standing[key] and problem.kind ~= "foreign" then
                table.insert(self.fresh, { kind = "Ingress", namespace = namespace, name = name,
                    reason = "Annotation", message = message })
            end
        end
    end
    self.standing = standing
end

---Hands what has changed to the compiler.
---@param compiler table
function Ingresses:run(compiler)
    if not self.is_dirty then
        return
    end
    self.is_dirty = false
    local result = ingress.compile({ ingresses = list_of(self.objects.Ingress),
        classes = list_of(self.objects.IngressClass),
        services = list_of(self.objects.Service) }, self.options)
    for _, name in ipairs(ingress.changes(self.contributions, result.contributions)) do
        local namespace, own = name:match("^([^/]+)/(.+)$")
        compiler:contribute("Ingress", namespace, own, result.contributions[name])
    end
    self.contributions, self.result = result.contributions, result
    collect_problems(self, result.problems)
end

local function same_addresses(status, wanted)
    local list = (status and status.loadBalancer or {}).ingress or {}
    local others = wanted.loadBalancer.ingress or {}
    for i = 1, math.max(#list, #others) do
        local a, b = list[i] or {}, others[i] or {}
        if a.ip ~= b.ip or a.hostname ~= b.hostname then
            return false
        end
    end
    return true
end

---The statuses of Ingresses to write: only with addresses in the options.
---@return resty.kubelua.gateway.StatusToWrite[]
function Ingresses:statuses()
    local list = {}
    for key in pairs(self.addresses and self.result and self.result.taken or {}) do
        local object = self.objects.Ingress[key]
        local status = ingress.status(self.addresses)
        if object and not same_addresses(object.status, status)
            and self.written[key] ~= object.metadata.resourceVersion then
            self.written[key] = object.metadata.resourceVersion
            list[#list + 1] = { kind = "Ingress", namespace = object.metadata.namespace,
                name = object.metadata.name, status = status, object = object }
        end
    end
    return list
end

---The problems that are new since the last call.
---@return resty.kubelua.gateway.Problem[]
function Ingresses:problems()
    local fresh = self.fresh
    self.fresh = {}
    return fresh
end

return ingresses
