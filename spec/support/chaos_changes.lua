-- The changes of a cluster in the chaos of spec/nginx/chaos_spec.lua. Each subject of nginx_chaos
-- has one task that changes it: its answers tell which backend, or which certificate, is meant.
local copies = require "nginx_copies"
local deep_copy = require "deep_copy"
local kubelua = require "kubelua"
local rubbish = require "rubbish"
local slices = require "slices"

local chaos_changes = {}

local BACKENDS = 12 -- web/v1 to web/v12

chaos_changes.BACKENDS = BACKENDS

chaos_changes.GATEWAY = [[
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
  - {name: a, port: 443, protocol: HTTPS, hostname: a.example.com,
     tls: {certificateRefs: [{name: a}]}}
]]

local ROUTE = [[
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %s, namespace: web}
spec:
  parentRefs: [{name: main}]
  hostnames: [%s.example.com]
  rules:
  - matches: [{path: {type: PathPrefix, value: /%s}}]
    backendRefs: [{name: v1, port: 80}]
  - backendRefs: [{name: %s, port: %d}]
]]

local INGRESS = [[
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: %s
  namespace: web
  annotations: {nginx.ingress.kubernetes.io/proxy-read-timeout: "%d"}
spec:
  ingressClassName: kubelua
  tls: [{hosts: [%s.example.com], secretName: %s}]
  rules:
  - host: %s.example.com
    http:
      paths: [{path: /, pathType: Prefix, backend: {service: {name: v%d, port: {number: 80}}}}]
]]

---An HTTPRoute that leads its host to a Service.
---@param name string
---@param service string
---@param mark any a path of this route that changes nothing
---@param port integer? of the Service; default: 80
---@return string
function chaos_changes.route(name, service, mark, port)
    return ROUTE:format(name, name, "mark-" .. tostring(mark), service, port or 80)
end

---An Ingress with TLS that leads its host to web/vN.
---@param name string
---@param number integer
---@param timeout integer
---@return string
function chaos_changes.ingress(name, number, timeout)
    return INGRESS:format(name, timeout, name, name, name, number)
end

---Numbers in 1..most that depend on the seed only.
---@param seed integer
---@return fun(most: integer): integer
function chaos_changes.random(seed)
    local state = (seed * 2654435761 + 12345) % 2147483647
    return function(most)
        state = state * 16807 % 2147483647
        return state % most + 1
    end
end

---A certificate for the name "NAME-NUMBER" that ends in some seconds, and its key.
---@param name string
---@param number integer
---@param seconds integer
---@return string, string
function chaos_changes.pair(name, number, seconds)
    local said, status = copies.shell(("%s/spec/nginx_chaos pair %s-%d %d"):format(copies.build,
        name, number, seconds))
    assert(status == 0, said)
    return said:match("^(.-%-%-%-%-%-END CERTIFICATE%-%-%-%-%-\n)(.*)$")
end

---A Secret with a pair.
---@param name string
---@param certificate string
---@param key string
---@return table
function chaos_changes.secret(name, certificate, key)
    return { apiVersion = "v1", kind = "Secret", type = "kubernetes.io/tls",
        metadata = { name = name, namespace = "web" },
        data = { ["tls.crt"] = kubelua.base64(certificate), ["tls.key"] = kubelua.base64(key) } }
end

---@class spec.ChaosCluster
---@field load fun(self, text: string): any creates or replaces objects
---@field apply fun(self, object: table): any
---@field delete fun(self, kind: string, key: string): any

---@class spec.ChaosActors what each task changes
---@field cluster spec.ChaosCluster
---@field judge spec.ChaosJudge
---@field port integer of the backends
---@field random fun(most: integer): integer
local Actors = {}
Actors.__index = Actors

---@param fields table
---@return spec.ChaosActors
function chaos_changes.new(fields)
    return setmetatable(fields, Actors)
end

local function another(self, name)
    local number = self.random(BACKENDS - 1)
    return number >= self.judge.now[name] and number + 1 or number
end

---An HTTPRoute gets another backend.
function Actors:shop()
    local number = another(self, "shop")
    self.judge:change({ "shop" }, number, function()
        assert(self.cluster:load(chaos_changes.route("shop", "v" .. number, self.random(1e6))))
    end)
end

---The route of an HTTPS listener gets another backend.
function Actors:secure()
    local number = another(self, "secure")
    self.judge:change({ "secure" }, number, function()
        assert(self.cluster:load(chaos_changes.route("a", "v" .. number, self.random(1e6))))
    end)
end

---An Ingress gets another backend, and another annotation.
function Actors:old()
    local number = another(self, "old")
    self.judge:change({ "old" }, number, function()
        assert(self.cluster:load(chaos_changes.ingress("old", number, self.random(100))))
    end)
end

---An endpoint of a Service goes, and another comes, in one EndpointSlice.
function Actors:pods()
    local number = another(self, "pods")
    self.judge:change({ "pods" }, number, function()
        assert(self.cluster:load(slices.slice("web", "pods", "pods-1", { "127.0.0." .. number },
            self.port)))
    end)
end

-- A Service with its endpoints, whose port tells which one it is.
local function load_flux(self, number)
    local function with_port(text)
        return (text:gsub('"name":"http"', ('"name":"p%d"'):format(number))
            :gsub('"port":80,', ('"port":%d,'):format(80 + number)))
    end
    assert(self.cluster:load(with_port(slices.service("web", "flux"))))
    assert(self.cluster:load(with_port(slices.slice("web", "flux", "flux-1",
        { "127.0.0." .. number }, self.port))))
    assert(self.cluster:load(chaos_changes.route("flux", "flux", 0, 80 + number)))
end

---A Service is deleted, and made again with a new UID, another endpoint and another port. Services,
---endpoints and routes come by watches of their own: only with the other port can the new endpoint
---not answer before all of them are known.
function Actors:flux()
    local fails = self.judge:await_failure("flux")
    assert(self.cluster:delete("services", "web/flux"))
    assert(self.cluster:delete("endpointslices.discovery.k8s.io", "web/flux-1"))
    fails()
    local number = another(self, "flux")
    self.judge:change({ "flux" }, number, function()
        load_flux(self, number)
    end)
    self.judge:rule("strict flux")
end

---Seconds of a certificate: an expired one is a fault. While the API server is silent or away, a
---rotation may be seen 20 seconds late on a busy machine, and the one before, which is served until
---then, must last: once it has expired, an expired pair that comes is as good.
chaos_changes.life = 90

-- A Secret gets a new pair; sometimes first one that is broken, or has expired: then the pair
-- before is served, of which a new binary would not know.
local function rotate(self, secret)
    local name = secret .. ".example.com"
    local number = self.judge.now[name] + 1
    local certificate, key = chaos_changes.pair(name, number, chaos_changes.life)
    local how = self.random(4)
    local release = how < 3 and self.judge:hold_upgrades()
    if how == 1 then
        assert(self.cluster:apply(chaos_changes.secret(secret, certificate:sub(1, 200), key)))
        kubelua.sleep(0.2)
    elseif how == 2 then
        assert(self.cluster:apply(chaos_changes.secret(secret, chaos_changes.pair(name, 4095,
            -60))))
        kubelua.sleep(0.2)
    end
    self.judge:change({ name }, number, function()
        assert(self.cluster:apply(chaos_changes.secret(secret, certificate, key)))
    end)
    if release then
        release()
    end
end

-- A Secret is deleted, and made again.
local function remake(self, secret)
    local name = secret .. ".example.com"
    local number = self.judge.now[name] + 1
    local fails = self.judge:await_failure(name)
    self.judge:rule("loose secure")
    assert(self.cluster:delete("secrets", "web/" .. secret))
    fails()
    self.judge:change({ name }, number, function()
        assert(self.cluster:apply(chaos_changes.secret(secret,
            chaos_changes.pair(name, number, chaos_changes.life))))
    end)
    self.judge:rule("strict " .. name, "strict secure")
end

---The certificate of a listener is rotated.
function Actors:certificate_a()
    if self.random(5) == 1 then
        return remake(self, "a")
    end
    rotate(self, "a")
end

---The certificate of an Ingress is rotated.
function Actors:certificate_old()
    rotate(self, "old")
end

---A listener comes to the Gateway of all, or goes.
function Actors:listener()
    local listeners = { { name = "http", port = 80, protocol = "HTTP" },
        { name = "a", port = 443, protocol = "HTTPS", hostname = "a.example.com",
            tls = { certificateRefs = { { name = "a" } } } } }
    for i = 1, self.random(4) - 1 do
        listeners[#listeners + 1] = { name = "more-" .. i, port = 80, protocol = "HTTP",
            hostname = "more-" .. self.random(9) .. i .. ".example.com" }
    end
    assert(self.cluster:apply { apiVersion = "gateway.networking.k8s.io/v1", kind = "Gateway",
        metadata = { name = "main", namespace = "web" },
        spec = { gatewayClassName = "kubelua", listeners = listeners } })
end

local TENANTS = {
    { apiVersion = "gateway.networking.k8s.io/v1", kind = "HTTPRoute", spec = {
        parentRefs = { { name = "main", namespace = "web", sectionName = "http", port = 80 } },
        hostnames = { "shop.example.com", "*.example.com" }, rules = { {
            matches = { { method = "GET", path = { type = "RegularExpression", value = "/a(" },
                headers = { { name = "h", value = "v" } } } },
            filters = { { type = "RequestMirror", requestMirror = {
                backendRef = { name = "shop", port = 80 }, fraction = { numerator = 1 } } } },
            backendRefs = { { name = "v1", namespace = "web", port = 80, weight = 1 } } } } } },
    { apiVersion = "networking.k8s.io/v1", kind = "Ingress", spec = { ingressClassName = "kubelua",
        tls = { { hosts = { "bad.example.com" }, secretName = "bad" } },
        rules = { { host = "bad.example.com", http = { paths = { { path = "/a(",
            pathType = "ImplementationSpecific", backend = { service = { name = "none",
            port = { number = 80 } } } } } } } } } },
    { apiVersion = "v1", kind = "Secret", type = "kubernetes.io/tls",
        data = { ["tls.crt"] = "AAAA", ["tls.key"] = "AAAA" } },
    { apiVersion = "v1", kind = "Service", spec = { selector = { app = "x" },
        ports = { { name = "http", port = 80, targetPort = "x", appProtocol = "grpc" } } } },
}

local ANNOTATIONS = { "rewrite-target", "use-regex", "canary", "canary-weight", "auth-url",
    "configuration-snippet", "proxy-body-size", "server-alias", "whitelist-source-range" }

---A tenant writes an object that makes no sense.
function Actors:tenant()
    local object = deep_copy(TENANTS[self.random(#TENANTS)])
    rubbish.spoil(object.spec or object.data, self.random, 6)
    object.metadata = { namespace = "bad", name = "bad-" .. self.random(20), annotations = {
        ["nginx.ingress.kubernetes.io/" .. ANNOTATIONS[self.random(#ANNOTATIONS)]] = "true(" } }
    self.cluster:apply(object) -- the API server refuses some
end

return chaos_changes
