-- The rule of a path: its backends, filters and settings.
local balance_settings = require "resty.kubelua.gateway.balance.settings"
local copy = require "kubelua.copy_table"
local pattern = require "resty.kubelua.gateway.pattern"
local paths = require "resty.kubelua.gateway.ingress.paths"
local template = require "resty.kubelua.gateway.template"

---What variables of annotations may name of a backend.
---@class kubelua.gateway.BackendFacts
---@field service_name string
---@field service_port string

local rules = {}

local PREFIX = "nginx.ingress.kubernetes.io/"

local function add_problem(item, kind, message, annotation)
    item.problems[#item.problems + 1] = { object = item.object, kind = kind, message = message,
        annotation = annotation and PREFIX .. annotation }
end

local function is_port(value)
    return type(value) == "number" and value >= 1 and value <= 65535 and value % 1 == 0
end

-- The port of a Service that a backend names. nil: it has none.
local function find_port(service, port)
    local ports = type(service.spec) == "table" and service.spec.ports
    for _, each in ipairs(type(ports) == "table" and ports or {}) do
        if type(each) == "table" and is_port(each.port)
            and (each.name == port.name and port.name ~= nil or each.port == port.number) then
            return each
        end
    end
end

-- Checks a Service that is known. Its port; nil and a message.
local function check_service(service, key, port)
    local spec = type(service.spec) == "table" and service.spec or {}
    if spec.type == "ExternalName" then
        local name, namespace = tostring(spec.externalName):match("^([%w%-]+)%.([%w%-]+)%.svc")
        return nil, ("the Service %s is of the type ExternalName, which has no endpoints: 503; %s")
            :format(key, name and ("it means %s/%s: put this path into an Ingress of that "
            .. "namespace"):format(namespace, name) or "write an EndpointSlice with its addresses")
    end
    local found = find_port(service, port)
    if not found then
        return nil, ("the Service %s has no port %s: 503"):format(key,
            tostring(port.name or port.number))
    end
    return found
end

---The name of a backend's port, "web/shop:80". nil, and a message.
---@param item kubelua.gateway.IngressItem
---@param backend any of the API
---@param services table<string, table>? by "namespace/name"; nil: they are not known
---@return string? name, string? message, kubelua.gateway.BackendFacts? facts
function rules.service(item, backend, services)
    local service = type(backend) == "table" and backend.service
    local port = type(service) == "table" and service.port
    if type(service) ~= "table" then
        return nil, "a backend names no Service (a resource is not supported): 404"
    elseif type(service.name) ~= "string" or type(port) ~= "table"
        or type(port.name) ~= "string" and not is_port(port.number) then
        return nil, "a backend has no Service name or no port: 404"
    end
    local key = item.namespace .. "/" .. service.name
    local known = services and services[key]
    local name = key .. ":" .. (is_port(port.number) and ("%d"):format(port.number) or port.name)
    local message
    if services and not known then
        message = ("the Service %s does not exist: 503"):format(key)
    elseif known then
        local found
        found, message = check_service(known, key, port)
        name = found and key .. ":" .. ("%d"):format(found.port) or name
    end
    return name, message, { service_name = service.name,
        service_port = tostring(port.name or ("%d"):format(port.number)) }
end

-- The port of the Service that default-backend names: its first one.
local function default_backend(item, services)
    local key = item.namespace .. "/" .. item.parsed.default_backend
    local service = services and services[key]
    local ports = service and type(service.spec) == "table" and service.spec.ports
    local first = type(ports) == "table" and type(ports[1]) == "table"
        and is_port(ports[1].port) and ports[1] or nil
    if services and not first then
        add_problem(item, "missing", ("the Service %s does not exist"):format(key),
            "default-backend")
        return nil
    end
    return first and ("%s:%d"):format(key, first.port) or key
end

-- What the annotations of a Service say of its balancer, read once. The weak keys are the objects.
local of_services = setmetatable({}, { __mode = "k" })

---The balancer of a backend by the annotations of its Service, which win over those of an Ingress.
---@param services table<string, table>? by "namespace/name"
---@param port_name string "web/shop:80"
---@return resty.kubelua.gateway.BalanceSettings? settings nil: the Service says nothing
function rules.balance(services, port_name)
    local service = services and services[(port_name:gsub(":[^:]*$", ""))]
    if service and of_services[service] == nil then
        of_services[service] = balance_settings.read(service.metadata.annotations) or false
    end
    return service and of_services[service] or nil
end

-- The balancer's settings: the cookie's path is that of the location, as in ingress-nginx.
local function balance_of(claim, is_regex)
    local parsed = claim.item.parsed
    local balance = parsed.settings.balance
    if not balance or not balance.cookie or parsed.has_cookie_path then
        return balance
    end
    balance = copy(balance)
    balance.cookie = copy(balance.cookie)
    balance.cookie.path = is_regex and "/" or claim.path
    if is_regex then
        add_problem(claim.item, "differs", "the cookie's path is /, since the paths are regular "
            .. "expressions; set session-cookie-path", "affinity")
    end
    return balance
end

-- True if the service of auth-url is named by the request's host, and that may be any.
local function is_led_by_client(settings, host)
    for _, part in ipairs(host.name == "*" and (settings.auth_request or {}).url or {}) do
        if part.var == "host" then
            return true
        end
    end
    return false
end

---What the annotations of an Ingress say of a path: guards, timeouts, the balancer.
---@param claim kubelua.gateway.Claim
---@param host kubelua.gateway.ClaimedHost
---@param context { services: table<string, table>?, has_certificate: fun(host: table): boolean }
---@return table? settings nil: nothing
function rules.settings(claim, host, context)
    local item = claim.item
    local settings = copy(item.parsed.settings)
    settings.balance = balance_of(claim, host.is_regex)
    settings.app_root = (host.is_regex or claim.path == "/") and host.app_root or nil
    if item.parsed.ssl_redirect == "always"
        or item.parsed.ssl_redirect == "tls" and context.has_certificate(host) then
        settings.ssl_redirect = item.parsed.ssl_redirect
    end
    if item.parsed.default_backend then
        settings.default_backend = default_backend(item, context.services)
        settings.default_balance = settings.default_backend
            and rules.balance(context.services, settings.default_backend)
    end
    if is_led_by_client(settings, host) then
        settings.denied = "auth-url: $host needs a rule with a host: else the client would choose "
            .. "the service"
        add_problem(item, "wrong", settings.denied:sub(11) .. "; the paths are denied (503)",
            "auth-url")
    end
    return next(settings) and settings or nil
end

-- The Host for the backend: its variables are known.
local function vhost_of(claim, facts)
    local item = claim.item
    local parts, unknown = template.parse((item.parsed.upstream_vhost:gsub(";$", "")), {
        namespace = item.namespace, ingress_name = item.name, location_path = claim.path,
        service_name = facts.service_name, service_port = facts.service_port })
    if parts and #parts == 1 and type(parts[1]) == "string" then
        return parts[1]
    elseif parts and #parts == 1 and (parts[1].var == "host" or parts[1].var == "http_host") then
        return nil -- what is sent anyway
    end
    add_problem(item, "unsupported", ("the variable $%s is not at hand here; the Host stays that "
        .. "of the client"):format(unknown or "of the request"), "upstream-vhost")
end

-- What rewrite-target changes: a filter that redirects, or the path of one that rewrites. nil: the
-- target is the path itself.
local function target_of(claim)
    local target = claim.item.parsed.rewrite_target
    if not target or target == claim.path then
        return nil
    end
    local is_url = target:find("^https?://")
    local path = { kind = "regex", pattern = pattern.beginning(claim.path),
        value = (is_url or target:sub(1, 1) == "/") and target or "/" .. target }
    if is_url then
        return { type = "redirect", path = path, status = 302 }
    end
    return nil, path
end

local function filters_of(claim, facts)
    local parsed, filters = claim.item.parsed, {}
    for i, filter in ipairs(parsed.filters) do
        filters[i] = filter
    end
    local redirect, path = target_of(claim)
    local host = parsed.upstream_vhost and facts and vhost_of(claim, facts) or nil
    if host or path then
        filters[#filters + 1] = { type = "rewrite", host = host, path = path }
    end
    filters[#filters + 1] = parsed.redirect or redirect
    return filters
end

local function backend_of(claim, weight, context)
    local parsed = claim.item.parsed
    local name, message, facts = rules.service(claim.item, claim.backend, context.services)
    if message and not parsed.redirect then
        add_problem(claim.item, "missing", message)
    end
    if not name then
        return { status = 404, weight = weight }, facts
    end
    return { service = name, weight = weight, protocol = parsed.protocol,
        balance = rules.balance(context.services, name),
        cluster_ip = parsed.cluster_ip }, facts
end

-- The two backends of a path with a canary.
local function add_canary(main, claim, context)
    local canary = claim.item.parsed.canary
    main.weight = canary.total - canary.weight
    local backend = backend_of(claim, canary.weight, context)
    backend.canary = { header = canary.header, value = canary.value, pattern = canary.pattern,
        cookie = canary.cookie, sticky = canary.sticky }
    return { main, backend }
end

---Makes the rule of a path.
---@param claim kubelua.gateway.Claim
---@param host kubelua.gateway.ClaimedHost
---@param context { services: table<string, table>?, has_certificate: fun(host: table): boolean }
---@return table RULE of the contract
function rules.of(claim, host, context)
    local main, facts = backend_of(claim, 1, context)
    local backends = claim.canary and add_canary(main, claim.canary, context) or { main }
    return { source = ("Ingress %s/%s %d"):format(claim.item.namespace, claim.item.name,
            claim.number),
        backends = backends, filters = filters_of(claim, facts),
        settings = rules.settings(claim, host, context) }
end

---What a path of ImplementationSpecific or with a slash at its end does otherwise here.
---@param claim kubelua.gateway.Claim
---@return string?
function rules.path_note(claim)
    local path, short = claim.path, paths.without_slash(claim.path)
    if path == "/" then
        return nil
    elseif claim.type == "ImplementationSpecific" and path == short then
        return ("the path %s (ImplementationSpecific) is taken as Prefix: it fits %s and %s/..., "
            .. "but not %sx, which ingress-nginx lets in"):format(path, path, path, path)
    elseif claim.type ~= "Exact" and path ~= short then
        return ("the path %s also fits %s, which ingress-nginx redirects to %s"):format(path, short,
            path)
    end
end

return rules
