-- The end of a run of compile.lua: the statuses and problems of objects of which something new may
-- be said. What goes wrong for one object is said of it; the others go on. Pure.
local classes = require "resty.kubelua.gateway.compile.classes"
local gateway_status = require "resty.kubelua.gateway.compile.gateway_status"
local policy_status = require "resty.kubelua.gateway.compile.policy_status"
local references = require "resty.kubelua.gateway.compile.references"
local route_status = require "resty.kubelua.gateway.compile.route_status"
local sorting = require "resty.kubelua.gateway.compile.sorting"

local settling = {}

local function settle_route(self, key)
    local record, settled = self.routes.records[key], self.routes:settle(key)
    local status = route_status.make(record.object, settled.parents, self.options)
    if #status.parents > 0 or (record.object.status or {}).parents then
        self.reporting:status(record.kind, record.object, status)
    end
    self.reporting:problems(key, record.origin, settled.problems)
    for service in pairs(next(self.policies.objects) and record.compiled.reads or {}) do
        self:unsettle_policies(service)
    end
end

-- Routes come first: Gateways count them, and policies name the Gateways of their routes.
local function settle_routes(self)
    for source in pairs(self.hosts:take_refused()) do
        if self.routes.records[source] then
            self.routes.unsettled[source] = true
        elseif self.contributed[source] then
            local _, refused = self.hosts:places(source)
            self.reporting:problems(source, self.contributed[source], refused)
        end
        self.options.pace()
    end
    for _, key in ipairs(self.routes:take_unsettled()) do
        self:try(key, self.routes.records[key].origin, settle_route)
        self.options.pace()
    end
end

local SETTLE = {}

function SETTLE.class(self, key)
    local object = self.classes[key]
    if object and classes.is_ours(object, self.options) then
        self.reporting:status("GatewayClass", object, classes.status(object, self.options))
    end
end

function SETTLE.gateway(self, key)
    local record = self.gateways.records[key]
    if record then
        local status = gateway_status.make(record, self.routes.counts[key] or {}, self.options)
        self.reporting:status("Gateway", record.object, status)
        self.reporting:problems(key, { kind = "Gateway", namespace = record.namespace,
            name = record.name }, gateway_status.problems(record))
    end
end

function SETTLE.policy(self, key)
    local object = self.policies.objects[key]
    if object then
        self.reporting:status("BackendTLSPolicy", object, policy_status.make(self, key, object))
    end
end

local function settle_others(self)
    for key in pairs(self.routes.recounted) do
        self.unsettled[key] = "gateway"
    end
    self.routes.recounted = {}
    local unsettled = self.unsettled
    self.unsettled = {}
    for _, key in ipairs(sorting.keys(unsettled, self.options.pace)) do
        local kind, namespace, name = references.parts(key)
        self:try(key, { kind = kind, namespace = namespace, name = name }, SETTLE[unsettled[key]])
        self.options.pace()
    end
end

---Reports what is new, in slices.
---@param compiler table
function settling.run(compiler)
    settle_routes(compiler)
    settle_others(compiler)
end

return settling
