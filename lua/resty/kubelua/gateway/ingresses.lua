-- The Ingresses in the owner. After a change those are compiled anew that share a host with the
-- changed one, those of its namespace if it is a Service, or all if it is a class; what differs
-- goes to the compiler.
local conditions = require "resty.kubelua.gateway.compile.conditions"
local groups = require "resty.kubelua.gateway.ingress.groups"
local ingress = require "resty.kubelua.gateway.ingress"

local ingresses = {}

local function go_on() end

---@class resty.kubelua.gateway.Ingresses
---@field objects table<string, table<string, table>> by kind and key
---@field changed table<string, true> keys of Ingresses since the last run
---@field namespaces table<string, true> those with a Service that has changed
---@field of_namespace table<string, table<string, true>> keys of Ingresses by namespace
---@field unsettled table<string, true> keys of Ingresses whose status may be another one
---@field is_dirty boolean a class has changed
---@field groups kubelua.gateway.IngressGroups
---@field contributions table<string, table[]>
---@field taken table<string, true> keys of Ingresses that are this gateway's
---@field users table<string, table> by Ingress: see `users` of kubelua.gateway.IngressResult
---@field fresh table[] problems that are new
---@field standing table<string, table<string, true>> by Ingress
---@field reported table<string, kubelua.gateway.Problem[]> all of each Ingress that was compiled
local Ingresses = {}
Ingresses.__index = Ingresses

---@param options resty.kubelua.GatewayOptions
---@param regex (fun(pattern: string): true|nil, string?)? a regular expression can be used
---@param pace fun()? called between two pieces of work of a run; it may wait
---@param script (fun(namespace: string, name: string): true|nil, string?)? a ConfigMap has a script
---@return resty.kubelua.gateway.Ingresses
function ingresses.new(options, regex, pace, script)
    pace = pace or go_on
    return setmetatable({ objects = { Ingress = {}, IngressClass = {}, Service = {} },
        is_dirty = true, changed = {}, namespaces = {}, of_namespace = {}, unsettled = {},
        groups = groups.new(), contributions = {}, taken = {}, users = {}, fresh = {},
        standing = {}, reported = {}, written = {},
        addresses = options.addresses, pace = pace,
        options = { controller = options.controller, nginx = options.nginx,
            without_class = options.without_class, regex = regex, pace = pace,
            owned = options.hosts == "owned", certificate = options.certificate,
            script = script } }, Ingresses)
end

-- True if only the status, or metadata that is not read, changed: our own status of each Ingress
-- comes back as a change.
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
    if kind == "Ingress" then
        local namespace = key:match("^[^/]*")
        self.of_namespace[namespace] = self.of_namespace[namespace] or {}
        self.of_namespace[namespace][key] = object and true
        self.unsettled[key] = object and true
    end
    if before and object and before.metadata.uid == object.metadata.uid
        and is_same(before, object) then
        return
    elseif kind == "Ingress" then
        self.changed[key] = true
    elseif kind == "Service" then
        self.namespaces[key:match("^[^/]*")] = true
    else
        self.is_dirty = true
    end
end

---Says that something outside has changed for the Ingresses of a namespace: a script.
---@param namespace string
function Ingresses:touch(namespace)
    self.namespaces[namespace] = true
end

local function list_of(map)
    local list = {}
    for _, object in pairs(map) do
        list[#list + 1] = object
    end
    return list
end

-- The problems of one Ingress; the new ones are told.
local function collect_problems(self, key, problems)
    local before, standing = self.standing[key] or {}, {}
    local namespace, name = key:match("^([^/]+)/(.+)$")
    for _, problem in ipairs(problems or {}) do
        local message = (problem.annotation and problem.annotation .. ": " or "")
            .. problem.message
        if not standing[message] then
            standing[message] = true
            if not before[message] and problem.kind ~= "foreign" then
                table.insert(self.fresh, { kind = "Ingress", namespace = namespace, name = name,
                    reason = "Annotation", message = message })
            end
        end
    end
    self.standing[key] = next(standing) and standing or nil
end

-- The versions of Ingresses that are to be compiled, because they or a Service of theirs changed.
local function take_changed(self)
    local changed, all, namespaces = self.changed, self.is_dirty, self.namespaces
    self.changed, self.is_dirty, self.namespaces = {}, false, {}
    for namespace in pairs(all and self.of_namespace or namespaces) do
        for key in pairs(self.of_namespace[namespace] or {}) do
            changed[key] = true
        end
    end
    local versions = {}
    for key in pairs(changed) do
        self.pace()
        local object = self.objects.Ingress[key]
        local ok, parsed = pcall(ingress.annotations, object)
        versions[key] = object and { object = object, parsed = ok and parsed or {} } or false
    end
    return versions
end

-- By the key of an Ingress, out of a list with names such as "Ingress web/shop".
local function by_ingress(problems)
    local of = {}
    for _, problem in ipairs(problems) do
        local key = problem.object:match("^Ingress (.+)$")
        if key then
            of[key] = of[key] or {}
            table.insert(of[key], problem)
        end
    end
    return of
end

-- Keeps what a run gives, in place of what its Ingresses gave before.
local function keep(self, keys, result)
    local problems = by_ingress(result.problems)
    for _, key in ipairs(keys) do
        self.contributions[key], self.taken[key] = result.contributions[key], result.taken[key]
        self.users[key], self.unsettled[key] = result.users[key], true
        collect_problems(self, key, problems[key])
        self.reported[key] = problems[key] or {}
        self.pace()
    end
end

---All problems of each Ingress that was compiled since the last call, by "namespace/name".
---@return table<string, kubelua.gateway.Problem[]>
function Ingresses:take_reported()
    local reported = self.reported
    self.reported = {}
    return reported
end

---Hands what has changed to the compiler.
---@param compiler table
function Ingresses:run(compiler)
    local versions = take_changed(self)
    if not next(versions) then
        return
    end
    local keys = self.groups:change(versions, self.pace)
    local objects, before = {}, {}
    for _, key in ipairs(keys) do
        objects[#objects + 1] = self.objects.Ingress[key]
        before[key] = self.contributions[key]
    end
    local result = ingress.compile({ ingresses = objects,
        classes = list_of(self.objects.IngressClass),
        services_by_name = self.objects.Service }, self.options)
    for _, key in ipairs(ingress.changes(before, result.contributions, self.pace)) do
        local namespace, own = key:match("^([^/]+)/(.+)$")
        compiler:contribute("Ingress", namespace, own, result.contributions[key])
        self.pace()
    end
    keep(self, keys, result)
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
    local unsettled = self.unsettled
    self.unsettled = {}
    for key in pairs(unsettled) do
        self.pace()
        local object = self.objects.Ingress[key]
        local status = ingress.status(self.addresses or {})
        if object and self.addresses and self.taken[key]
            and not same_addresses(object.status, status)
            and self.written[key] ~= object.metadata.resourceVersion then
            self.written[key] = object.metadata.resourceVersion
            list[#list + 1] = { kind = "Ingress", namespace = object.metadata.namespace,
                name = object.metadata.name, status = status, object = object }
        end
    end
    return list
end

---The users that annotations name, by the key of their Secret's part.
---@return table<string, table>
function Ingresses:named_users()
    local all = {}
    for name, one in pairs(self.users) do
        if not all[one.key] or name < all[one.key].ingress then
            all[one.key] = one
        end
    end
    return all
end

---The problems that are new since the last call.
---@return resty.kubelua.gateway.Problem[]
function Ingresses:problems()
    local fresh = self.fresh
    self.fresh = {}
    return fresh
end

return ingresses
