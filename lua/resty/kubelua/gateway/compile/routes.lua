-- The HTTPRoutes and GRPCRoutes: compiles those that changed (or whose Services, grants, policies
-- or scripts did), attaches those whose Gateways or namespace changed, and hands their rules to the
-- hosts. Cost of a run: the routes that are marked, and the hosts that they are on. Pure.
local attach = require "resty.kubelua.gateway.compile.attach"
local dependents = require "resty.kubelua.gateway.compile.dependents"
local grpc_route = require "resty.kubelua.gateway.compile.grpc_route"
local hosts = require "resty.kubelua.gateway.compile.hosts"
local http_route = require "resty.kubelua.gateway.compile.http_route"
local references = require "resty.kubelua.gateway.compile.references"
local rivals = require "resty.kubelua.gateway.compile.rivals"
local route_status = require "resty.kubelua.gateway.compile.route_status"
local rules = require "resty.kubelua.gateway.compile.rules"
local sorting = require "resty.kubelua.gateway.compile.sorting"

local Routes = {}
Routes.__index = Routes

local routes = { KINDS = { HTTPRoute = http_route, GRPCRoute = grpc_route } }

---@class resty.kubelua.gateway.RouteRecord
---@field kind string
---@field object table
---@field origin table
---@field compiled resty.kubelua.gateway.CompiledRoute
---@field found resty.kubelua.gateway.Parent[] with the listeners that allow the route
---@field parents resty.kubelua.gateway.Parent[] with those that serve it
---@field counted table<string, string[]> names of listeners that count it, by Gateway

---@class resty.kubelua.gateway.RoutesContext
---@field cluster resty.kubelua.gateway.Cluster
---@field gateways table the Gateways
---@field hosts table the Hosts
---@field namespaces table<string, table<string, string>> labels by name

---@param context resty.kubelua.gateway.RoutesContext
function routes.new(context)
    return setmetatable({ context = context, records = {}, compiling = dependents.new(),
        attaching = dependents.new(), rivals = rivals.new(), unsettled = {}, counts = {},
        recounted = {} }, Routes)
end

---True if more than the status may have changed.
---@param before table
---@param after table
---@return boolean
function routes.is_changed(before, after)
    local old, new = before.metadata, after.metadata
    return old.uid ~= new.uid or old.generation ~= new.generation or new.generation == nil
end

---@param kind string
---@param key string
---@param object table
function Routes:set(kind, key, object)
    local record = self.records[key]
    if record and not routes.is_changed(record.object, object) then
        record.object = object
        self.unsettled[key] = true
        return
    end
    local metadata = object.metadata
    self.records[key] = { kind = kind, object = object, compiled = record and record.compiled,
        counted = record and record.counted or {}, parents = {}, found = {},
        places = 0, origin = { kind = kind, namespace = metadata.namespace, name = metadata.name,
            created = metadata.creationTimestamp } }
    self.compiling.dirty[key] = true
end

function Routes:remove(key)
    local record = self.records[key]
    if record then
        self:count(record, {})
        self.compiling:set(key, nil)
        self.attaching:set(key, nil)
        self.rivals:set(key, nil)
        self.context.hosts:set(key, nil)
        self.records[key] = nil
    end
end

---Marks the routes that read an object.
---@param key string
function Routes:mark(key)
    self.compiling:mark(key)
    self.attaching:mark(key)
end

-- The parents that are Gateways of this controller, with the listeners that allow the route.
function Routes:find_parents(record, reads)
    local spec, metadata = record.object.spec or {}, record.object.metadata
    local applicant = { kind = record.kind, namespace = metadata.namespace,
        hostnames = spec.hostnames, labels = self.context.namespaces[metadata.namespace] }
    local found, claims = {}, {}
    for _, ref in ipairs(spec.parentRefs or {}) do
        self.context.cluster.options.pace()
        local name = attach.is_gateway(ref)
            and references.key("Gateway", ref.namespace or metadata.namespace, ref.name)
        reads[name or "Namespace " .. metadata.namespace] = true
        local gateway = name and self.context.gateways.records[name]
        if gateway then
            local attachments, reason, message = attach.find(gateway, ref, applicant)
            found[#found + 1] = { ref = ref, gateway = name, attachments = attachments,
                reason = reason, message = message }
            for _, attachment in ipairs(attachments) do
                claims[name .. " " .. attachment.listener.name] = { hosts = attachment.hosts,
                    origin = record.origin }
            end
        end
    end
    return found, claims
end

-- A route that no CRD has checked and that makes no sense is attached nowhere.
function Routes:attach(key, record)
    local reads = { ["Namespace " .. record.object.metadata.namespace] = true }
    local valid, found, claims = pcall(self.find_parents, self, record, reads)
    if not valid and type(found) ~= "string" then
        error(found, 0) -- the task ends
    end
    record.found = valid and found or {}
    self.attaching:set(key, reads)
    self.rivals:set(key, valid and claims or nil)
end

-- What of a parent's listeners is left after routes of the other kind have taken theirs.
function Routes:surviving(key, parent)
    local attachments = {}
    for _, attachment in ipairs(parent.attachments) do
        if not self.rivals:has_lost(key, parent.gateway .. " " .. attachment.listener.name) then
            attachments[#attachments + 1] = attachment
        end
    end
    local lost = #attachments == 0 and #parent.attachments > 0
    return { ref = parent.ref, gateway = parent.gateway, attachments = attachments,
        reason = lost and "HostnameConflict" or parent.reason,
        message = lost and "an older route of another kind has the hostname" or parent.message }
end

-- A route may name 32 parents with 64 listeners each, and 16 hosts: each is a place in the map.
local MOST_PLACES = 2048

-- The places of a route's rules, by key of the host.
local function items_of(record, item, attachments, items)
    for _, attachment in ipairs(attachments) do
        local listener = attachment.listener
        for _, entry in ipairs(listener.entries) do
            for _, host in ipairs(attachment.hosts) do
                local key = hosts.key(entry, listener.hostname, host)
                record.places = record.places + (items[key] and 0 or 1)
                items[key] = item
            end
        end
    end
end

-- Hands the rules of a route to the hosts of its listeners.
function Routes:place(key, record)
    local compiled, items = record.compiled, {}
    local item = { rules = compiled.rules, matches = compiled.matches, size = compiled.size,
        origin = record.origin }
    record.parents, record.places = {}, 0
    for i, parent in ipairs(record.found) do
        local survivor = self:surviving(key, parent)
        record.parents[i] = survivor
        if #compiled.matches > 0 and record.places <= MOST_PLACES then
            items_of(record, item, survivor.attachments, items)
        end
        self.context.cluster.options.pace()
    end
    self.context.hosts:set(key, record.places <= MOST_PLACES and items or {})
    self.unsettled[key] = true
end

---Compiles, attaches and places the routes that are marked.
function Routes:run()
    local placing, records, pace = {}, self.records, self.context.cluster.options.pace
    for _, key in ipairs(self.compiling:take(pace)) do
        local record = records[key]
        if record then
            record.compiled = rules.compile(routes.KINDS[record.kind], record.object,
                self.context.cluster)
            self.compiling:set(key, record.compiled.reads)
            self.attaching.dirty[key] = true
        end
        pace()
    end
    for _, key in ipairs(self.attaching:take(pace)) do
        if records[key] then
            self:attach(key, records[key])
            placing[key] = true
        end
        pace()
    end
    for key in pairs(self.rivals:run(pace)) do
        placing[key] = true
    end
    for key in pairs(placing) do
        if records[key] then
            self:place(key, records[key])
        end
        pace()
    end
end

-- Counts a route at the listeners that accept it, in place of those that counted it before.
function Routes:count(record, counted)
    for sign, lists in pairs { [-1] = record.counted, [1] = counted } do
        for gateway, names in pairs(lists) do
            local counts = self.counts[gateway] or {}
            self.counts[gateway], self.recounted[gateway] = counts, true
            for name in pairs(names) do
                counts[name] = (counts[name] or 0) + sign
            end
        end
    end
    record.counted = counted
end

---@class resty.kubelua.gateway.Settled
---@field parents { parentRef: table, conditions: table[] }[]
---@field problems { reason: string, message: string }[]

---What is to be said of a route, after all hosts were made.
---@param key string
---@return resty.kubelua.gateway.Settled
function Routes:settle(key)
    local record = self.records[key]
    local places, refused = self.context.hosts:places(key)
    if record.places > MOST_PLACES then
        refused = { { reason = "LimitExceeded", message =
            ("its hosts and listeners are more than %d places"):format(MOST_PLACES) } }
    end
    local parents, counted, refusals = {}, {}, {}
    for i, parent in ipairs(record.parents) do
        local list, accepted = route_status.conditions(parent, record.compiled, places, refused)
        parents[i] = { parentRef = parent.ref, conditions = list }
        if accepted then
            local names = counted[parent.gateway] or {}
            counted[parent.gateway] = names
            for _, attachment in ipairs(parent.attachments) do
                names[attachment.listener.name] = true
            end
        else
            refusals[#refusals + 1] = { reason = list[1].reason, message = list[1].message }
        end
    end
    self:count(record, counted)
    return { parents = parents, problems = #parents > 0
        and route_status.problems(record.compiled, refusals, refused) or {} }
end

---Takes the routes about which something new may be said, in order.
---@return string[]
function Routes:take_unsettled()
    local list = {}
    for key in pairs(self.unsettled) do
        if self.records[key] then
            list[#list + 1] = key
        end
    end
    self.unsettled = {}
    return sorting.sort(list, nil, self.context.cluster.options.pace)
end

---The Gateways to which the routes of a Service are attached.
---@param service string key
---@param into table<string, true>
function Routes:gateways_of(service, into)
    for key in pairs(self.compiling.readers[service] or {}) do
        local record = self.records[key]
        for _, parent in ipairs(record and record.parents or {}) do
            if #parent.attachments > 0 then
                into[parent.gateway] = true
            end
        end
    end
end

return routes
