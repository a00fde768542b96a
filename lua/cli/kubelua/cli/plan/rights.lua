-- Computes the rules of RBAC for the requests of a script, and for those that the library would
-- send on a path that this run did not take: docs/CONTROLLERS.md, "The rights that a script needs".
local sorted_keys = require "kubelua.sorted_keys"

---A rule of a Role or ClusterRole.
---@class kubelua.RbacRule
---@field apiGroups? string[]
---@field resources? string[]
---@field verbs string[]
---@field resourceNames? string[]
---@field nonResourceURLs? string[]

---@class kubelua.RbacRules
---@field cluster kubelua.RbacRule[]
---@field namespaces table<string, kubelua.RbacRule[]>

---What decides on rules besides the requests.
---@class kubelua.RightsContext
---@field is_constant fun(request: kubelua.AskedRequest, field: "name"|"namespace"): boolean
---@field kind fun(name: string): kubelua.Kind? "apps/v1/Deployment"
---@field leases { namespace: string, name: string, is_ring: boolean? }[] of `leader` and `shards`
---@field finalizers { kind: kubelua.Kind, namespaces: (string|false)[] }[] kinds of controllers
--- with a finalizer; false: all namespaces

local rights = {}

-- The verbs in the order in which they are printed.
local ORDER = {}
for i, verb in ipairs { "get", "list", "watch", "create", "update", "patch", "delete",
    "deletecollection" } do
    ORDER[verb] = i
end

-- These requests have no name that an authorizer could compare.
local NAMELESS = { create = true, deletecollection = true }

-- A connection into a pod is opened by POST, or as a WebSocket by GET.
local CONNECTS = { exec = true, attach = true, portforward = true }

local WRITES = { create = true, update = true, patch = true, delete = true }

---Grants by scope ("" is the cluster, else a namespace), group and resource, verb: true, or a set
---of names.
---@class kubelua.Grants
---@field scopes table<string, table<string, table<string, true|table<string, true>>>>
---@field paths table<string, table<string, true>> verbs by path
local Grants = {}
Grants.__index = Grants

local function slot_of(self, scope, resource)
    self.scopes[scope] = self.scopes[scope] or {}
    self.scopes[scope][resource] = self.scopes[scope][resource] or {}
    return self.scopes[scope][resource]
end

---@param scope string|false false: the cluster
---@param group string
---@param resource string with its subresource: "pods/log"
---@param verb string
---@param name string? nil: every object
function Grants:add(scope, group, resource, verb, name)
    local verbs = slot_of(self, scope or "", group .. "\1" .. resource)
    if name == nil or NAMELESS[verb] then
        verbs[verb] = true
    elseif verbs[verb] ~= true then
        verbs[verb] = verbs[verb] or {}
        verbs[verb][name] = true
    end
end

-- Grants the rights that a request may need besides its own verb.
local function add_consequences(self, request, scope, name, context)
    local group, resource = request.group, request.resource
    local is_write = WRITES[request.verb]
    if request.is_apply then
        self:add(scope, group, resource, "create")
    end
    -- A run looks its object up after a conflict, and after a write without an answer; a patch that
    -- names a UID, after a refusal.
    if request.verb == "create" and request.is_run then
        for created in pairs(request.names) do
            local named = setmetatable({ name = created }, { __index = request })
            self:add(scope, group, resource, "get", context.is_constant(named, "name") and created
                or nil)
        end
    elseif is_write and (request.is_run or request.has_uid) then
        self:add(scope, group, resource, "get", name)
    end
    -- The admission plugin OwnerReferencesPermissionEnforcement asks for these.
    if request.sets_owner then
        self:add(scope, group, resource, "delete", name)
    end
    for owner in pairs(request.owners) do
        local kind = context.kind(owner)
        if kind then
            self:add(kind.namespaced and scope, kind.group, kind.plural .. "/finalizers", "update")
        end
    end
end

local function add_request(self, request, context)
    local scope = request.namespace ~= nil and context.is_constant(request, "namespace")
        and request.namespace
    local name = request.name ~= nil and context.is_constant(request, "name") and request.name
        or nil
    local resource = request.resource
    if request.subresource then
        resource = resource .. "/" .. request.subresource
    end
    self:add(scope, request.group, resource, request.verb, name)
    if request.is_informer then
        self:add(scope, request.group, resource, "list", name)
        self:add(scope, request.group, resource, "watch", name)
    elseif CONNECTS[request.subresource] then
        self:add(scope, request.group, resource, "create")
        self:add(scope, request.group, resource, "get", name)
    elseif request.group == "events.k8s.io" and resource == "events" then
        self:add(scope, request.group, resource, "create") -- a series that is written again
        self:add(scope, request.group, resource, "patch")
    end
    add_consequences(self, request, scope, name, context)
end

local function add_leases(self, leases)
    for _, lease in ipairs(leases) do
        local group = "coordination.k8s.io"
        self:add(lease.namespace, group, "leases", "create")
        if lease.is_ring then -- its members' Leases have names that are not known before
            for _, verb in ipairs { "get", "list", "watch", "update", "delete" } do
                self:add(lease.namespace, group, "leases", verb)
            end
        else
            self:add(lease.namespace, group, "leases", "get", lease.name)
            self:add(lease.namespace, group, "leases", "update", lease.name)
        end
    end
end

local function add_finalizers(self, finalizers)
    for _, each in ipairs(finalizers) do
        for _, namespace in ipairs(each.namespaces) do
            self:add(namespace, each.kind.group, each.kind.plural, "get")
            self:add(namespace, each.kind.group, each.kind.plural, "patch")
        end
    end
end

-- The verbs that leader election uses for its Lease.
local LEADS = { get = true, create = true, update = true }

local function is_lease_of(request, leases)
    for _, lease in ipairs(leases) do
        local is_near = request.resource == "leases" and request.group == "coordination.k8s.io"
            and request.namespace == lease.namespace
        if is_near and (lease.is_ring or LEADS[request.verb]
            and (request.name == lease.name or request.verb == "create")) then
            return true
        end
    end
    return false
end

-- Removes from a namespace the rights that the rules for the whole cluster contain already.
local function remove_covered(self)
    for scope, resources in pairs(self.scopes) do
        for resource, verbs in pairs(scope ~= "" and resources or {}) do
            local above = self.scopes[""] and self.scopes[""][resource] or {}
            for verb, names in pairs(verbs) do
                if above[verb] == true then
                    verbs[verb] = nil
                elseif type(above[verb]) == "table" and type(names) == "table" then
                    for name in pairs(above[verb]) do
                        names[name] = nil
                    end
                    verbs[verb] = next(names) and names or nil
                end
            end
        end
    end
end

local function is_verb_before(a, b)
    local one, other = ORDER[a] or math.huge, ORDER[b] or math.huge
    if one ~= other then
        return one < other
    end
    return a < b
end

-- Adds the verbs of a resource to the rules of its group, one for each list of names.
local function add_rules(rules, group, resource, verbs)
    local by_names = {}
    for verb, names in pairs(verbs) do
        local list = names ~= true and sorted_keys(names) or {}
        local key = table.concat(list, "\0")
        by_names[key] = by_names[key] or { names = list, verbs = {} }
        by_names[key].verbs[verb] = true
    end
    for key, part in pairs(by_names) do
        local list = sorted_keys(part.verbs, is_verb_before)
        local at = table.concat({ group, key, table.concat(list, ",") }, "\1")
        rules[at] = rules[at] or { apiGroups = { group }, resources = {}, verbs = list,
            resourceNames = part.names[1] and part.names or nil }
        table.insert(rules[at].resources, resource)
    end
end

local function rule_key(rule)
    local names = rule.resourceNames or {}
    return table.concat({ rule.apiGroups[1], rule.resources[1], #names > 0 and "1" or "0",
        table.concat(names, ","), table.concat(rule.verbs, ",") }, "\1")
end

local function list_rules(resources)
    local by_key, rules = {}, {}
    for key, verbs in pairs(resources) do
        local group, resource = key:match("^(.-)\1(.*)$")
        add_rules(by_key, group, resource, verbs)
    end
    for _, rule in pairs(by_key) do
        table.sort(rule.resources)
        rules[#rules + 1] = rule
    end
    table.sort(rules, function(a, b) return rule_key(a) < rule_key(b) end)
    return rules
end

local function list_path_rules(paths, rules)
    for _, path in ipairs(sorted_keys(paths)) do
        rules[#rules + 1] = { nonResourceURLs = { path },
            verbs = sorted_keys(paths[path], is_verb_before) }
    end
end

---The smallest rules for these requests.
---@param requests kubelua.AskedRequest[]
---@param context kubelua.RightsContext
---@return kubelua.RbacRules
function rights.rules(requests, context)
    local grants = setmetatable({ scopes = {}, paths = {} }, Grants)
    for _, request in ipairs(requests) do
        if request.path then
            grants.paths[request.path] = grants.paths[request.path] or {}
            grants.paths[request.path][request.verb] = true
        elseif not is_lease_of(request, context.leases) then
            add_request(grants, request, context)
        end
    end
    add_leases(grants, context.leases)
    add_finalizers(grants, context.finalizers)
    remove_covered(grants)
    local rules = { cluster = list_rules(grants.scopes[""] or {}), namespaces = {} }
    list_path_rules(grants.paths, rules.cluster)
    for scope, resources in pairs(grants.scopes) do
        local list = scope ~= "" and list_rules(resources) or {}
        if list[1] then
            rules.namespaces[scope] = list
        end
    end
    return rules
end

return rights
