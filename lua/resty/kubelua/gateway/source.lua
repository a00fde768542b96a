-- The owner's part of the gateway: a script of kube.owner. It watches the objects, hands them to
-- the compiler, and publishes what a run gives; statuses go to status.lua.
--
--   informers -> compiler (and Ingresses) -> one run for the changes of a moment -> map, statuses
local address_pool = require "resty.kubelua.gateway.address_pool"
local balance_settings = require "resty.kubelua.gateway.balance.settings"
local compile = require "resty.kubelua.gateway.compile"
local counts = require "resty.kubelua.gateway.counts"
local features = require "resty.kubelua.gateway.features"
local ingresses = require "resty.kubelua.gateway.ingresses"
local kinds = require "resty.kubelua.gateway.kinds"
local pace = require "resty.kubelua.pace"
local publish = require "resty.kubelua.gateway.publish"
local refused = require "resty.kubelua.gateway.refused"
local scripts = require "resty.kubelua.gateway.script.source"
local searching = require "resty.kubelua.gateway.searching"
local secrets = require "resty.kubelua.gateway.secrets"
local statuses = require "resty.kubelua.gateway.status"
local users = require "resty.kubelua.gateway.users"

local source = {
    current = nil, ---@type resty.kubelua.gateway.Source? the last one of this worker
}

local H2C = 1025001 -- nginx 1.25.1 tells HTTP/1.1 from HTTP/2 on a port without TLS
local SWEEP = 10 -- seconds between two looks for metrics of what is gone
local SETTLE = 0.01 -- seconds in which changes come together before a run

---@class resty.kubelua.gateway.Source
---@field kube resty.kubelua.Instance
---@field kubelua table the module of the script
---@field client kubelua.Client
---@field informers table<string, kubelua.Informer> by kind
---@field missing table<string, true> kinds whose first list has not come
---@field compiler table
---@field ingresses table
---@field secrets table
---@field users resty.kubelua.gateway.Users
---@field scripts table
---@field refused resty.kubelua.gateway.Refused
---@field statuses table
---@field is_complete boolean all was known once, so the tables are complete
---@field is_due boolean something has changed since the last run began
---@field is_running boolean a task runs, or is about to
local Source = {}
Source.__index = Source

-- The part of the map's room that the hosts may have; the rest is for Services and certificates.
local OF_ROOM = 0.5

local PLAIN = { nulls = false }
-- Bytes of an object: to decode more takes too long. A route with all that its CRD allows has less,
-- and so has an Ingress of 1,000 paths.
local MOST_BYTES = 256 * 1024

-- Kinds that the compiler takes.
local COMPILED = { GatewayClass = true, Gateway = true, HTTPRoute = true, GRPCRoute = true,
    ReferenceGrant = true, BackendTLSPolicy = true, Namespace = true, Service = true }
-- Kinds that the Ingresses' part takes.
local OF_INGRESSES = { Ingress = true, IngressClass = true, Service = true }

local function check_regex(pattern)
    local text, message = searching.text(pattern)
    if not text then
        return nil, message
    end
    local _, _, problem = ngx.re.find("", text, "j")
    if problem then
        return nil, (problem:gsub("^pcre2?_compile%(%) failed: ", ""))
    end
    return true
end

local function compiler_options(self, options)
    local ports
    for _, named in pairs(options.ports or {}) do
        ports = ports or {}
        ports[named] = true
    end
    local has_h2c = ngx.config.nginx_version >= H2C
    return { controller = options.controller, addresses = options.addresses,
        pool = options.pool and address_pool.expand(options.pool), ports = ports,
        features = options.features or features.list(has_h2c, options.pool ~= nil),
        balance = balance_settings.read,
        array = self.kubelua.array,
        regex = check_regex,
        pace = pace.go,
        owned = options.hosts == "owned",
        room = math.floor(self.kube.status().room * OF_ROOM),
        h2c = has_h2c,
        certificate = function(namespace, name)
            return self.secrets:check(namespace .. "/" .. name)
        end,
        script = function(namespace, name)
            return self.scripts:check(namespace, name)
        end,
        now = function() return self.kubelua.timestamp(self.kubelua.now()) end }
end

-- Runs the compiler soon: once for all changes of a moment. Before everything is known, nothing is
-- published: what an earlier owner left in the map is served.
function Source:plan_run()
    self.is_due = true
    if self.is_running or next(self.missing) then
        return
    end
    self.is_running = true
    self.kubelua.spawn(function()
        local ok, problem = xpcall(self.run_while_due, debug.traceback, self)
        self.is_running = false
        if not ok then
            error(problem, 0)
        end
    end)
end

function Source:run_while_due()
    while self.is_due do
        self.kubelua.sleep(SETTLE)
        self.is_due = false
        self:run()
    end
end

-- One run, in slices: it compiles, makes the puts ready, and publishes them together.
function Source:run()
    self.ingresses:run(self.compiler)
    local result = self.compiler:run()
    self.secrets:refer(result.certificates, pace.go)
    local writing = { batch = assert(self.kube.batch()), log = self.kubelua.log, pace = pace.go }
    publish.result(writing, result)
    self.secrets:publish(writing)
    self.scripts:publish(writing)
    self:publish_refused(writing)
    writing.batch:commit()
    self.users:refer(self.ingresses:named_users())
    if not self.is_complete then
        self.is_complete = true
        publish.complete(self.kube)
        self.kubelua.log("info", "gateway: all objects are known")
    end
    self.statuses:write(result.statuses)
    self.statuses:write(self.ingresses:statuses())
    self.statuses:tell(result.problems)
    self.statuses:tell(self.secrets:problems())
    self.statuses:tell(self.scripts:problems())
    self.statuses:tell(self.ingresses:problems())
end

function Source:change_script(view, is_script)
    if is_script then
        self.compiler:touch("ConfigMap", view.namespace, view.name)
        self.ingresses:touch(view.namespace)
    end
end

function Source:publish_refused(writing)
    self.refused:read_compiler(self.compiler, pace.go)
    self.refused:read_ingresses(self.ingresses:take_reported(), pace.go)
    self.refused:read_secrets(self.secrets)
    self.refused:read_scripts(self.scripts)
    self.refused:publish(writing)
end

-- Forgets the metrics of routes and Services that were deleted.
function Source:sweep_counts()
    local compiler, kube = self.compiler, self.kube
    counts.sweep({
        route = function(key)
            return compiler.routes.records[key] ~= nil or compiler.contributed[key] ~= nil
        end,
        service = function(name)
            return select(2, kube.service(name):endpoints()) ~= "unknown"
        end,
    }, pace.go)
end

function Source:set(kind, view)
    if kind == "users" then
        return self.users:set(view)
    elseif kind == "Secret" then
        self.secrets:set(view)
        self.compiler:touch("Secret", view.namespace, view.name)
    elseif kind == "ConfigMap" then
        self:change_script(view, self.scripts:set(view))
    elseif #view:json() > MOST_BYTES then
        local problem = { kind = kind, namespace = view.namespace, name = view.name,
            reason = "LimitExceeded", message = ("the object has more than %d bytes: it is as if "
            .. "it were not there"):format(MOST_BYTES) }
        self.statuses:tell { problem }
        self:delete(kind, view)
        self.refused:tell(kind .. " " .. view.key, problem)
    else
        local object = view:table(PLAIN)
        self.refused:tell(kind .. " " .. view.key, nil)
        if COMPILED[kind] then
            self.compiler:set(kind, object)
        end
        if OF_INGRESSES[kind] then
            self.ingresses:set(kind, view.key, object)
        end
    end
    self:plan_run()
    pace.go()
end

function Source:delete(kind, view)
    if kind == "users" then
        return self.users:delete(view)
    elseif kind == "Secret" then
        self.secrets:delete(view)
        self.compiler:touch("Secret", view.namespace, view.name)
    elseif kind == "ConfigMap" then
        self:change_script(view, self.scripts:delete(view))
    else
        self.refused:tell(kind .. " " .. view.key, nil)
        if COMPILED[kind] then
            self.compiler:delete(kind, { metadata = { namespace = view.namespace,
                name = view.name } })
        end
        if OF_INGRESSES[kind] then
            self.ingresses:set(kind, view.key, nil)
        end
    end
    self:plan_run()
    pace.go()
end

function Source:know(name)
    if self.missing[name] then
        self.missing[name] = nil
        self:plan_run()
    end
end

-- Says each message of a kind once. A kind that the server does not know has no objects yet; its
-- informer goes on, and finds it when it is installed.
function Source:fail(kind, message, code)
    local name = kind.name or kind.kind
    if self.told[name] ~= message then
        self.told[name] = message
        local is_absent = code == "unknown_kind"
        self.kubelua.log(is_absent and "info" or "error", "gateway: %s: %s",
            kinds.resource(kind), is_absent and "not installed; its objects are served once it is"
            or message)
    end
    if code == "unknown_kind" then
        self:know(name)
    end
end

function Source:watch(kind)
    local options = { kinds.resource(kind), namespace = "*" }
    for name, value in pairs(kind.options or {}) do
        options[name] = value
    end
    if kind.kind == "GatewayClass" or kind.kind == "IngressClass" or kind.kind == "Namespace" then
        options.namespace = nil
    end
    local name = kind.name or kind.kind
    local word = kind.kind == "ConfigMap" and kind.kind or name
    local informer, problem = self.client:informer(options)
    self.informers[name] = assert(informer, problem)
    self.missing[name] = true
    informer:on { name = "gateway: " .. kind.plural,
        add = function(view) self:set(word, view) end,
        update = function(_, view) self:set(word, view) end,
        delete = function(view) self:delete(word, view) end,
        synced = function() self:know(name) end,
        error = function(message, code) self:fail(kind, message, code) end }
end

---Runs the owner's part. Called in a script of kube.owner.
---@param kube resty.kubelua.Instance
---@param kubelua table the module of the script
---@param options resty.kubelua.GatewayOptions
function source.run(kube, kubelua, options)
    local self = setmetatable({ kube = kube, kubelua = kubelua, informers = {}, missing = {},
        told = {}, is_complete = false, is_due = false, is_running = false }, Source)
    self.client = assert(kubelua.connect())
    self.refused = refused.new()
    self.secrets = secrets.new(kube, kubelua, options)
    self.scripts = scripts.new(kube, kubelua, options)
    self.ingresses = ingresses.new(options, check_regex, pace.go, function(namespace, name)
        return self.scripts:check(namespace, name)
    end)
    self.compiler = compile.new(compiler_options(self, options))
    self.statuses = statuses.new(self.client, kubelua, options, self.informers, function(status)
        self.compiler:touch(status.kind, status.namespace, status.name)
        self:plan_run()
    end, pace.go)
    self.users = users.new(kube, kubelua, self.client, function(problem)
        self.statuses:tell { problem }
    end)
    source.current = self
    kubelua.every(SWEEP, function()
        if self.is_complete and source.current == self then
            self:sweep_counts()
        end
    end)
    for _, kind in ipairs(kinds.ALL) do
        if kind.kind ~= "Secret" or options.secrets ~= false then
            self:watch(kind)
        end
    end
    for _, namespace in ipairs(self.scripts:namespaces()) do
        self:watch(kinds.scripts(namespace))
    end
    self.scripts:watch_failures(function(list) self.statuses:tell(list) end)
    kubelua.every(1, function()
        if source.current == self then
            self.statuses:tell(searching.take_problems())
        end
    end)
end

return source
