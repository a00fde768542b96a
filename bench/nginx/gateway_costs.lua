-- What bench/nginx/gateway.lua compares, and the objects of the cluster that it needs. To add
-- a case, add an entry to VARIED: each of the 1,000 hosts gets a path for it.
local slices = require "slices"
local values = require "kubelua.values"

local cases = { HOSTS = 1000, PATHS = 10, SERVICES = 10, ENDPOINTS = 3 }

local BOUND = 1.10 -- of the static location's CPU

---@class bench.GatewayCase
---@field name string
---@field label string
---@field filters table[]? of the HTTPRoute's rule
---@field annotations table<string, string>? of the Services
---@field over string? the case that it is compared with; default: "static"
---@field bound number? times that at most

-- For each case every HTTPRoute has one rule, with a path and Services that no other case uses.
---@type bench.GatewayCase[]
local VARIED = {
    { name = "filter", label = "gateway, a header filter", over = "routes",
        filters = { { type = "ResponseHeaderModifier",
            responseHeaderModifier = { set = { { name = "X-Set", value = "set" } } } } } },
    { name = "hash", label = "gateway, hash",
        annotations = { ["kubelua.dev/balance"] = "hash" } },
    { name = "sticky", label = "gateway, sticky",
        annotations = { ["kubelua.dev/balance"] = "sticky" } },
    { name = "least_conn", label = "gateway, least_conn",
        annotations = { ["kubelua.dev/balance"] = "least_conn" } },
    { name = "ewma", label = "gateway, ewma", annotations = { ["kubelua.dev/balance"] = "ewma" } },
}

-- Cases that are not objects' own: of nginx.conf (gateway.lua has the servers), or by another way.
local FIXED = {
    { name = "static", label = "static location" },
    { name = "variables", label = "static, with the gateway's variables in headers" },
    { name = "empty", label = "static, with empty Lua in all phases" },
    { name = "constant", label = "a constant endpoint, set by Lua" },
    { name = "lua", label = "static, with a header filter of Lua", over = "variables" },
    { name = "njs", label = "static, with a header filter of njs", over = "variables" },
    { name = "routes", label = "gateway, HTTPRoutes", bound = BOUND },
    { name = "ingresses", label = "gateway, Ingresses", bound = BOUND },
    { name = "static_tls", label = "static location, HTTPS" },
    { name = "routes_tls", label = "gateway, HTTPRoutes, HTTPS", over = "static_tls",
        bound = BOUND },
}

---All cases, in the order in which they are printed.
---@param has_njs boolean nginx's own JavaScript is asked for
---@return bench.GatewayCase[]
function cases.list(has_njs)
    local list = {}
    for _, part in ipairs { FIXED, VARIED } do
        for _, case in ipairs(part) do
            if has_njs or case.name ~= "njs" then
                list[#list + 1] = case
            end
        end
    end
    return list
end

---The host of a case, and its path, with "%d" for their numbers; and how many paths.
---@param name string
---@return string host, string path, integer paths
function cases.place(name)
    for _, case in ipairs(VARIED) do
        if case.name == name then
            return "h%d.varied.example.com", "/" .. name .. "/p%d", 1
        end
    end
    return "h%d." .. name:gsub("_tls$", "") .. ".example.com", "/p%d/items", cases.PATHS
end

local CLASSES = [[
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: kubelua}
spec: {controllerName: kubelua.dev/gateway}
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: kubelua}
spec: {controller: kubelua.dev/gateway}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: main, namespace: web}
spec:
  gatewayClassName: kubelua
  listeners:
  - {name: http, port: 80, protocol: HTTP}
  - {name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: pair}]}}
]]

-- The path of a rule, its filters, and its Service.
local function rule_of(path, service, filters)
    return { matches = { { path = { type = "PathPrefix", value = path } } }, filters = filters,
        backendRefs = { { name = service, port = 80 } } }
end

local function route_of(set, i, rules)
    return values.json { apiVersion = "gateway.networking.k8s.io/v1", kind = "HTTPRoute",
        metadata = { name = set .. "-" .. i, namespace = "web" },
        spec = { parentRefs = { { name = "main" } }, rules = rules,
            hostnames = { ("h%d.%s.example.com"):format(i, set) } } }
end

local function plain_route(i)
    local rules = {}
    for n = 0, cases.PATHS - 1 do
        rules[n + 1] = rule_of("/p" .. n, "plain-" .. n % cases.SERVICES)
    end
    return route_of("routes", i, rules)
end

local function varied_route(i)
    local rules = {}
    for n, case in ipairs(VARIED) do
        rules[n] = rule_of("/" .. case.name, (case.annotations and case.name:gsub("_", "-")
            or "plain") .. "-" .. i % cases.SERVICES, case.filters)
    end
    return route_of("varied", i, rules)
end

local function ingress(i)
    local paths = {}
    for n = 0, cases.PATHS - 1 do
        paths[n + 1] = { path = "/p" .. n, pathType = "Prefix",
            backend = { service = { name = "plain-" .. n % cases.SERVICES,
                port = { number = 80 } } } }
    end
    return values.json { apiVersion = "networking.k8s.io/v1", kind = "Ingress",
        metadata = { name = "ingress-" .. i, namespace = "web" },
        spec = { ingressClassName = "kubelua", rules = { {
            host = ("h%d.ingresses.example.com"):format(i), http = { paths = paths } } } } }
end

---The addresses of the endpoints of a Service, by its number.
---@param number integer
---@return string[]
function cases.addresses(number)
    local addresses = {}
    for i = 1, cases.ENDPOINTS do
        addresses[i] = "127.0.0." .. number * cases.ENDPOINTS + i
    end
    return addresses
end

local function add_services(texts, prefix, annotations, port)
    for n = 0, cases.SERVICES - 1 do
        local name = prefix:gsub("_", "-") .. "-" .. n
        local service = values.decode(slices.service("web", name))
        service.metadata.annotations = annotations
        texts[#texts + 1] = values.json(service)
        texts[#texts + 1] = slices.slice("web", name, name .. "-1", cases.addresses(n), port)
    end
end

---Loads all objects into a cluster.
---@param sim kubelua.Sim
---@param port integer of the backends
---@param secret table the certificate of the HTTPS listener
function cases.load(sim, port, secret)
    local texts = {}
    add_services(texts, "plain", nil, port)
    for _, case in ipairs(VARIED) do
        if case.annotations then
            add_services(texts, case.name, case.annotations, port)
        end
    end
    for i = 0, cases.HOSTS - 1 do
        texts[#texts + 1] = plain_route(i)
        texts[#texts + 1] = varied_route(i)
        texts[#texts + 1] = ingress(i)
    end
    assert(sim:load(CLASSES))
    assert(sim:apply(secret))
    assert(sim:load(slices.list(texts)))
end

return cases
