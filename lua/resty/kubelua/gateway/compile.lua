-- Compiles objects of Gateway API, and what Ingresses contribute, to the tables gateway.entries and
-- gateway.hosts of the shared map and to the objects' status. It runs in the owner, which hands
-- every object in and writes what a run gives back. A run costs what changed: a route with its
-- hosts; all Gateways with their listeners if one of them did; 10,000 routes and one change: below
-- a millisecond (bench/gateway/compile.lua). A long run is done in slices: it calls `pace` between
-- two pieces of work; what changes meanwhile waits for the next run. Pure Lua, no ngx.
local classes = require "resty.kubelua.gateway.compile.classes"
local conditions = require "resty.kubelua.gateway.compile.conditions"
local entries = require "resty.kubelua.gateway.compile.entries"
local gateways = require "resty.kubelua.gateway.compile.gateways"
local hosts = require "resty.kubelua.gateway.compile.hosts"
local json_size = require "resty.kubelua.gateway.compile.json_size"
local policies = require "resty.kubelua.gateway.compile.policies"
local references = require "resty.kubelua.gateway.compile.references"
local reporting = require "resty.kubelua.gateway.compile.reporting"
local routes = require "resty.kubelua.gateway.compile.routes"
local settling = require "resty.kubelua.gateway.compile.settling"
local waiting = require "resty.kubelua.gateway.compile.waiting"

local unpack = table.unpack or unpack

local Compiler = {}
Compiler.__index = Compiler

local compile = {}

local key_of = references.key

---@class resty.kubelua.gateway.CompileOptions every key is optional
---@field controller? string of the GatewayClasses that are ours; default "kubelua.dev/gateway"
---@field addresses? string[] of Gateways that share "*:PORT"
---@field pool? string[] each Gateway gets one of these for itself
---@field ports? table<integer, true> where nginx listens; nil: everywhere
---@field h2c? boolean false: HTTP listeners speak no HTTP/2, so GRPCRoutes need HTTPS
---@field features? string[] for GatewayClass status
---@field bundle? string version of the CRDs ("v1.6.3")
---@field certificate? fun(namespace: string, name: string): true|nil, string? a Secret can be used
---@field regex? fun(pattern: string): true|nil, string? a regular expression can be used
---@field script? fun(namespace: string, name: string): true|nil, string? a ConfigMap has a script
---@field balance? fun(annotations: table): table?, string[] a Service's balancer; what is wrong
---@field array? fun(list: table): table marks a list for JSON (kubelua.array)
---@field now? fun(): string RFC 3339
---@field pace? fun() called between two pieces of work of a run; it may wait
---@field matches? integer limit of a host; default 1000
---@field bytes? integer limit of a HOST as JSON; default 131072
---@field owned? boolean a host belongs to the namespace of the oldest object that names it
---@field patterns? integer regular expressions of all hosts, which the namespaces share; default
---6144: nginx.conf lets each worker keep 8192
---@field room? integer bytes of all hosts, which the namespaces share; default: no limit

local function identity(list)
    return list
end

local function go_on() end

local function utc_now()
    return os.date("!%Y-%m-%dT%H:%M:%SZ")
end

---@param options resty.kubelua.gateway.CompileOptions?
function compile.new(options)
    local settings = { controller = "kubelua.dev/gateway", array = identity, now = utc_now,
        pace = go_on, matches = 1000, bytes = 128 * 1024, room = math.huge,
        patterns = 6144 }
    for name, value in pairs(options or {}) do
        settings[name] = value
    end
    local self = { options = settings, classes = {}, namespaces = {}, contributed = {},
        unsettled = {}, entries = entries.new(settings), gateways = gateways.new(settings),
        hosts = hosts.new(settings), policies = policies.new(),
        reporting = reporting.new(), waiting = waiting.new(), is_running = false }
    self.cluster = { grants = {}, services = {}, policies = self.policies, options = settings }
    self.routes = routes.new { cluster = self.cluster, gateways = self.gateways, hosts = self.hosts,
        namespaces = self.namespaces }
    return setmetatable(self, Compiler)
end

local SET = {} -- what a changed or deleted (nil) object of each kind does

function SET.GatewayClass(self, key, object)
    self.classes[key], self.unsettled[key] = object, object and "class" or nil
    self.gateways.dirty = true
end

function SET.Gateway(self, key, object)
    local before = self.gateways.objects[key]
    if not before or not object or routes.is_changed(before, object) then
        self.gateways.dirty = true
    elseif self.gateways.records[key] then
        self.gateways.records[key].object = object
    end
    if not before or not object then
        self.routes:mark(key) -- also if it is another controller's: see refused.lua
    end
    self.gateways:set(key, object)
    self.unsettled[key] = object and "gateway" or nil
end

function SET.HTTPRoute(self, key, object)
    if object then
        self.routes:set("HTTPRoute", key, object)
    else
        self.routes:remove(key)
    end
end

function SET.GRPCRoute(self, key, object)
    if object then
        self.routes:set("GRPCRoute", key, object)
    else
        self.routes:remove(key)
    end
end

function SET.ReferenceGrant(self, key, object, metadata)
    local grants = self.cluster.grants
    grants[metadata.namespace] = grants[metadata.namespace] or {}
    grants[metadata.namespace][key] = object
    self.routes:mark("ReferenceGrant " .. metadata.namespace)
    self.gateways.dirty = true
end

function SET.Namespace(self, key, object, metadata)
    local labels = object and (object.metadata.labels or {}) or nil
    if not conditions.same(self.namespaces[metadata.name], labels) then
        self.namespaces[metadata.name] = labels
        self.routes:mark(key)
    end
end

-- Says what is wrong with the annotations of a Service, whether a route names it or not.
local function tell_annotations(self, key, metadata, annotations)
    local _, problems = self.options.balance(annotations)
    for i, message in ipairs(problems) do
        problems[i] = { reason = "Annotation", message = message }
    end
    self.reporting:problems(key, { kind = "Service", namespace = metadata.namespace,
        name = metadata.name }, problems)
end

function SET.Service(self, key, object, metadata)
    local service = object and references.service(object) or nil
    if not conditions.same(self.cluster.services[key], service) then
        self.cluster.services[key] = service
        self.routes:mark(key)
        if service and self.options.balance then
            tell_annotations(self, key, metadata, service.annotations)
        end
    end
end

function SET.BackendTLSPolicy(self, key, object)
    for _, service in ipairs(self.policies:set(key, object)) do
        self.routes:mark(service)
        self:unsettle_policies(service)
    end
    self.unsettled[key] = object and "policy" or nil
end

local function read_key(kind, object)
    local metadata = object.metadata
    return key_of(kind, metadata.namespace, metadata.name), metadata
end

-- Does what an object asks for. What goes wrong is a problem of this object only: a CRD may not
-- have checked it.
function Compiler:try(key, origin, work, ...)
    local ok, problem = pcall(work, self, key, ...)
    if not ok and type(problem) ~= "string" then
        error(problem, 0) -- the task ends
    elseif not ok then
        self.reporting:problems(key, origin, { { reason = "Invalid",
            message = "the object is malformed: " .. problem } })
    end
end

local function origin_of(kind, metadata)
    return { kind = kind, namespace = metadata.namespace, name = metadata.name }
end

---Hands in an object that is new or has changed. Cost: the routes that read it are marked.
---@param kind string
---@param object table kept, never changed
function Compiler:set(kind, object)
    local key, metadata = read_key(kind, object)
    if self.is_running then
        return self.waiting:add(key, "set", kind, object)
    end
    self:try(key, origin_of(kind, metadata), SET[kind], object, metadata)
end

---@param kind string
---@param object table only its metadata is read
function Compiler:delete(kind, object)
    local key, metadata = read_key(kind, object)
    if self.is_running then
        return self.waiting:add(key, "delete", kind, object)
    end
    self:try(key, origin_of(kind, metadata), SET[kind], nil, metadata)
    self.reporting:problems(key, metadata, {})
end

---Says that something outside has changed: the Secret of a certificate, the ConfigMap of a script,
---or that a status could not be written.
---@param kind string
---@param namespace string?
---@param name string
function Compiler:touch(kind, namespace, name)
    local key = key_of(kind, namespace, name)
    if self.is_running then
        return self.waiting:add(key, "touch", kind, namespace, name)
    end
    self.gateways.dirty = self.gateways.dirty or self.gateways.reads[key] == true
    self.routes:mark(key)
    if routes.KINDS[kind] then
        self.routes.unsettled[key] = true
    elseif self.gateways.records[key] then
        self.unsettled[key] = "gateway"
    elseif self.classes[key] then
        self.unsettled[key] = "class"
    end
end

---@class resty.kubelua.gateway.Contribution what an Ingress gives for one host
---@field entry string "*:80"
---@field listener string "*"
---@field host string
---@field tls boolean?
---@field certificates string[]?
---@field rules table[]
---@field matches table[]
---@field origin { kind: string, namespace: string, name: string, created: string? }

---Says what an object that compile does not know gives now, in place of what it gave before.
---@param kind string
---@param namespace string
---@param name string
---@param list resty.kubelua.gateway.Contribution[]? one for each host; nil: nothing
function Compiler:contribute(kind, namespace, name, list)
    local source = key_of(kind, namespace, name)
    if self.is_running then
        return self.waiting:add(source, "contribute", kind, namespace, name, list)
    end
    local items, bindings, sizes = {}, {}, {}
    for i, item in ipairs(list or {}) do
        sizes[item.rules] = sizes[item.rules] or json_size(item.rules) + json_size(item.matches)
        items[hosts.key(item.entry, item.listener, item.host)] = { rules = item.rules,
            matches = item.matches, origin = item.origin,
            size = sizes[item.rules] }
        bindings[i] = { entry = item.entry, listener = item.listener, host = item.host,
            tls = item.tls == true, certificates = item.certificates }
    end
    self.hosts:set(source, items)
    self.entries:set(source, bindings)
    self.contributed[source] = list and { kind = kind, namespace = namespace, name = name } or nil
    if not list then
        self.reporting:problems(source, {}, {})
    end
end

function Compiler:unsettle_policies(service)
    for _, target in ipairs(self.policies.targets[service] or {}) do
        self.unsettled[target.policy] = "policy"
    end
end

function Compiler:run_gateways()
    local changed, ran = self.gateways:run(self.cluster.grants, function(name)
        local class = self.classes[key_of("GatewayClass", nil, tostring(name))]
        return class ~= nil and classes.is_ours(class, self.options) and classes.is_accepted(class)
    end)
    for key in pairs(changed) do
        self.routes:mark(key)
        self.options.pace()
    end
    for key, record in pairs(ran and self.gateways.records or {}) do
        self.entries:set(key, gateways.bindings(record))
        self.unsettled[key] = "gateway"
        self.options.pace()
    end
    for key in pairs(changed) do
        if not self.gateways.records[key] then
            self.entries:set(key, nil)
            self.reporting:problems(key, {}, {})
        end
    end
end

---@class resty.kubelua.gateway.CompileResult what changed since the last run
---@field entries table<string, table|false> values of gateway.entries; false: remove the key
---@field hosts table<string, table|false> values of gateway.hosts; false: remove the key
---@field certificates table<string, string[]|false> Secrets by "ENTRY HOST"
---@field statuses resty.kubelua.gateway.StatusToWrite[]
---@field problems resty.kubelua.gateway.Problem[]

function Compiler:run_all()
    self:run_gateways()
    self.routes:run()
    local changed_hosts = self.hosts:run()
    local changed_entries, certificates = self.entries:run()
    settling.run(self)
    local statuses, problems = self.reporting:take()
    return { entries = changed_entries, hosts = changed_hosts, certificates = certificates,
        statuses = statuses, problems = problems }
end

-- Hands in what has changed during a run; what changes now waits behind it.
function Compiler:hand_in_waiting()
    local change = self.waiting:take()
    while change do
        self.is_running = false
        self[change.call](self, unpack(change.arguments, 1, 4))
        self.is_running = true
        self.options.pace()
        change = self.waiting:take()
    end
end

---Compiles what has changed. The result is that of the objects at the beginning of the run, also if
---`pace` waits, and others change meanwhile. A second run begins when the first has ended.
---@return resty.kubelua.gateway.CompileResult
function Compiler:run()
    self.is_running = true
    local ok, result = xpcall(self.run_all, debug.traceback, self)
    self:hand_in_waiting()
    self.is_running = false
    if not ok then
        error(result, 0)
    end
    return result
end

---All problems that stand, for /kubelua and the command.
---@return resty.kubelua.gateway.Problem[]
function Compiler:problems()
    return self.reporting:all()
end

return compile
