-- The gateway: nginx routes requests by the Ingresses and the Gateway API objects of a cluster.
-- docs/GATEWAY.md describes its use; `kubelua gateway init` prints an nginx.conf for it. The worker
-- that owns the map compiles the objects (source.lua); every worker serves requests (request.lua).
local auth_service = require "resty.kubelua.gateway.auth_service"
local balance = require "resty.kubelua.gateway.balance"
local counts = require "resty.kubelua.gateway.counts"
local dump = require "resty.kubelua.gateway.dump"
local kube = require "resty.kubelua"
local options_of = require "kubelua.options"
local misuse = require "kubelua.misuse"
local mirrors = require "resty.kubelua.gateway.mirrors"
local publish = require "resty.kubelua.gateway.publish"
local request = require "resty.kubelua.gateway.request"
local response = require "resty.kubelua.gateway.response"
local routing = require "resty.kubelua.gateway.routing"
local scripts = require "resty.kubelua.gateway.script.phases"
local series = require "resty.kubelua.gateway.series"
local source = require "resty.kubelua.gateway.source"
local tls = require "resty.kubelua.gateway.tls"
local upstream = require "resty.kubelua.gateway.upstream"

local gateway = {}

---@class resty.kubelua.GatewayOptions every key is optional; connect, services, size, name, path,
---zone, node, keep, empty and external_names are those of kube.init
---@field ports? table<integer, integer> the port that a Gateway names, for each port that nginx
---listens on; then Gateways with other ports are told so. Default: the same numbers, all
---@field controller? string of GatewayClasses and IngressClasses; default: "kubelua.dev/gateway"
---@field nginx? boolean also take the Ingresses of ingress-nginx's classes
---@field without_class? boolean also take Ingresses without a class
---@field addresses? string[] where clients reach this nginx: for the status of objects
---@field pool? string[] addresses, or ranges such as "10.43.0.0/24": each Gateway gets one of them
---@field features? string[] for the status of the GatewayClass
---@field certificate? string "namespace/name" of the Secret for names that have no certificate
---@field hosts? "shared"|"owned" "owned": a host belongs to the namespace of the oldest route or
---Ingress that names it; default: "shared"
---@field secrets? boolean false: do not watch Secrets; then there is no TLS
---@field retries? boolean nginx.conf has the locations for retries after a status
---@field auth_hosts? string[] hosts beside Services that an auth-url may name; default: { "*" }
---@field auth_verify? boolean false: do not check certificates of such hosts
---@field status? boolean false: write no status and no Events
---@field scripts? resty.kubelua.ScriptOptions Lua on the route; default: off
---@field series? integer|false of metrics: routes and Services that are counted; default: 4,096
---@field peer? fun(host: string): string the address to connect to, for an endpoint's

local TYPES = { hosts = "string",
    connect = "table", services = "table|boolean", size = "number", name = "string",
    path = "string", zone = "string", node = "string", keep = "number", empty = "string",
    external_names = "boolean", ports = "table", controller = "string", nginx = "boolean",
    without_class = "boolean", addresses = "table", pool = "table", features = "table",
    certificate = "string", secrets = "boolean", status = "boolean", retries = "boolean",
    peer = "function", auth_hosts = "table", auth_verify = "boolean", scripts = "table",
    series = "number|boolean" }

local OF_MAP = { "connect", "services", "size", "name", "path", "zone", "node", "keep", "empty",
    "external_names" }

local function check_ports(ports)
    for listened, named in pairs(ports or {}) do
        if type(listened) ~= "number" or type(named) ~= "number" then
            misuse("gateway.init: 'ports' has the Gateway's port for each port of nginx, such as "
                .. "{ [8080] = 80 }")
        end
    end
end

---Opens the map that all workers share. Call it in init_by_lua.
---@param options resty.kubelua.GatewayOptions?
---@return resty.kubelua.Instance? instance as kube.init; nil, message, code: it cannot be opened
---@return string? message
---@return string? code
function gateway.init(options)
    options = options_of.optional("gateway.init", options, TYPES)
    check_ports(options.ports)
    options_of.choice("gateway.init", "hosts", options.hosts, { shared = true, owned = true })
    local given = { tables = publish.TABLES }
    for _, name in ipairs(OF_MAP) do
        given[name] = options[name]
    end
    local instance, message, code = kube.init(given)
    if not instance then
        return nil, message, code
    end
    local ok
    ok, message = balance.init { workers = ngx.worker.count() }
    if not ok then
        return nil, message, "io"
    end
    ok, message = counts.open { series = options.series, workers = ngx.worker.count() }
    if not ok then
        return nil, message, "io"
    end
    routing.set_up(instance, options)
    scripts.set_up(options)
    tls.set_up(options)
    upstream.set_up(options)
    auth_service.set_up(options)
    instance.owner(function(kubelua)
        source.run(instance, kubelua, options)
    end)
    gateway.kube = instance
    return instance
end

local function check_init(call)
    if not gateway.kube then
        misuse("%s: call gateway.init in init_by_lua", call)
    end
end

---Joins this worker to those that may watch the cluster; with `wait`, returns once the routes are
---known. Call it in init_worker_by_lua.
---@param options resty.kubelua.InitWorkerOptions?
---@return boolean?, string?, string? true; or nil, message, code: also "timeout"
function gateway.init_worker(options)
    check_init("gateway.init_worker")
    balance.init_worker()
    counts.join(ngx.worker.id() or 0)
    return gateway.kube.init_worker(options)
end

---The metrics of kube.metrics, and those of routes and Services, in Prometheus' text format. In
---content_by_lua other requests go on meanwhile.
---@return string
function gateway.metrics()
    check_init("gateway.metrics")
    return gateway.kube.metrics() .. series.text()
end

---What is there, as a new table: that of kube.dump, with routes, and with what is refused and why.
---In phases of nginx that can wait, other requests go on meanwhile. docs/GATEWAY.md has the fields.
---@param options resty.kubelua.DumpOptions?
---@return table
function gateway.dump(options)
    check_init("gateway.dump")
    return dump.make(gateway.kube.map, options)
end

---Answers with the same as JSON: for content_by_lua of a location that only administrators reach.
---The arguments of the query are the options.
function gateway.show()
    check_init("gateway.show")
    dump.show(gateway.kube.map)
end

---access_by_lua: finds the route and the endpoint, or answers.
gateway.access = request.access
---content_by_lua of the locations that read a body whose length is not known.
gateway.go_on = request.go_on
---rewrite_by_lua of the named locations, which gateway.access leads to.
gateway.resume = request.resume
---balancer_by_lua: sends the request to its endpoint; to another one when nginx tries again.
gateway.balancer = upstream.balance
---header_filter_by_lua: changes the headers of the answer.
gateway.header_filter = response.header_filter
---body_filter_by_lua of the locations for scripts that change the body.
gateway.body_filter = scripts.body_filter
---log_by_lua: ends what the request holds.
gateway.log = response.log
---rewrite_by_lua of the location of mirrored requests.
gateway.mirror = mirrors.begin
---ssl_certificate_by_lua: sets the certificates for the name that the client asks for.
gateway.handshake = tls.handshake

return gateway
