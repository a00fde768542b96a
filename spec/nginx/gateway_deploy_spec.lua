-- examples/gateway/deploy.yaml: the API server takes it, and its rights are enough, and no more
-- than docs/GATEWAY.md says.
local eventually = require "eventually"
local gateway_yaml = require "gateway_yaml"
local gateway_world = require "gateway_world"
local kubelua = require "kubelua"
local page = require "page"

local USER = "system:serviceaccount:kubelua-gateway:gateway"

local OBJECTS = gateway_yaml.GATEWAY .. [[
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop, namespace: web}
spec:
  parentRefs: [{name: main}]
  hostnames: [shop.example.com]
  rules: [{backendRefs: [{name: one, port: 80}]}]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: old
  namespace: web
  annotations: {nginx.ingress.kubernetes.io/server-snippet: "return 200;"}
spec:
  ingressClassName: nginx
  rules:
  - host: old.example.com
    http:
      paths: [{path: /, pathType: Prefix, backend: {service: {name: two, port: {number: 80}}}}]
]]

-- The lines of a list of rules, without their indentation.
local function rules_in(text)
    local lines = {}
    for line in text:gmatch("[^\n]+") do
        lines[#lines + 1] = line:match("^%s*(.-)%s*$")
    end
    return lines
end

describe("examples/gateway/deploy.yaml", function()
    local text = page.read("examples/gateway/deploy.yaml")
    local world, path

    setup(function()
        path = os.tmpname()
        world = gateway_world.start {
            sim = { no_controllers = true, rbac = true,
                users = { { name = USER, token = "its" } } },
            load = text .. "---\n" .. OBJECTS,
            options = "nginx = true, addresses = { \"192.0.2.1\" }",
            connect = function(self)
                local file = assert(io.open(path, "w"))
                file:write((assert(self.sim:kubeconfig { name = USER })))
                file:close()
                return ("kubeconfig = %q"):format(path)
            end,
        }
    end)

    teardown(function()
        world:close()
        os.remove(path)
    end)

    it("has the rights of docs/GATEWAY.md", function()
        local documented = page.read("docs/GATEWAY.md"):match("```yaml\nrules:\n(.-)```")
        local granted = text:match("\nkind: ClusterRole\n.-\nrules:\n(.-)\n%-%-%-")
        assert.same(rules_in(documented), rules_in(granted))
    end)

    it("is taken by the API server, the Deployment under restricted Pod Security", function()
        local deployment = assert(world.sim:get("deployments", "kubelua-gateway/gateway"))
        local pod = deployment.spec.template.spec
        assert.is_true(pod.securityContext.runAsNonRoot)
        assert.equal("RuntimeDefault", pod.securityContext.seccompProfile.type)
        local container = pod.containers[1].securityContext
        assert.is_false(container.allowPrivilegeEscalation)
        assert.equal("ALL", container.capabilities.drop[1])
        for _, service in ipairs { "http", "https" } do
            local service_ports = world.sim:get("services", "kubelua-gateway/gateway").spec.ports
            local found
            for _, port in kubelua.ipairs(service_ports) do
                found = found or port.targetPort == service
            end
            assert.is_true(found, service)
        end
    end)

    it("serves routes and Ingresses, and writes their status, with these rights", function()
        world:expect("web/one GET / ", "shop.example.com", "/")
        world:expect("web/two GET / ", "old.example.com", "/")
        assert(world.sim:wait("ingresses", "web/old", function(found)
            return found.status and kubelua.get(found, "status.loadBalancer.ingress")
        end, 10))
        for kind, key in pairs { gateways = "web/main", httproutes = "web/shop",
            gatewayclasses = "kubelua" } do
            assert(world.sim:wait(kind, key, function(found)
                return found.status and (found.status.conditions or found.status.parents)
            end, 10))
        end
        eventually(function()
            return #assert(world.sim:list("events", { namespace = "web" })) > 0
        end, "an Event about the snippet", 10)
        assert.equal(0, world.one:count("forbidden"), world.one:said())
    end)
end)
