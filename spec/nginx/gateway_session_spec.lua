-- Sessions by cookie in the gateway, where a canary takes a part of the new ones.
local gateway_yaml = require "gateway_yaml"
local gateway_world = require "gateway_world"

local INGRESSES = gateway_yaml.INGRESS_CLASS .. [[
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: main
  namespace: web
  annotations: {nginx.ingress.kubernetes.io/affinity: cookie}
spec:
  ingressClassName: kubelua
  rules:
  - host: one.example.com
    http: {paths: [
      {path: /, pathType: Prefix, backend: {service: {name: one, port: {number: 80}}}}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: canary
  namespace: web
  annotations:
    nginx.ingress.kubernetes.io/canary: "true"
    nginx.ingress.kubernetes.io/canary-weight: "50"
    nginx.ingress.kubernetes.io/affinity-canary-behavior: %s
spec:
  ingressClassName: kubelua
  rules:
  - host: one.example.com
    http: {paths: [
      {path: /, pathType: Prefix, backend: {service: {name: two, port: {number: 80}}}}]}
]]

describe("a session of a canary", function()
    local world

    after_each(function()
        world:close()
    end)

    local function start(behaviour)
        world = gateway_world.start { load = INGRESSES:format(behaviour), workers = 1 }
        world:expect("web/two", "one.example.com", "/")
    end

    -- The cookie of a new session at this backend.
    local function cookie_of(backend)
        local _, head = world:expect(backend, "one.example.com", "/")
        return assert(head:match("[Ss]et%-[Cc]ookie: ([^;]+)"), head)
    end

    -- Which backends get ten requests of a session.
    local function backends_of(cookie)
        local seen = {}
        for _ = 1, 10 do
            local _, body = world:ask("one.example.com", "/", "-b " .. cookie)
            seen[body:match("^%S+")] = true
        end
        return seen
    end

    it("stays with the canary, and that of the main backend with that", function()
        start("sticky")
        for _, backend in ipairs { "web/one", "web/two" } do
            assert.same({ [backend] = true }, backends_of(cookie_of(backend)))
        end
    end)

    it("goes by weight, if the Ingress says legacy", function()
        start("legacy")
        for _, backend in ipairs { "web/one", "web/two" } do
            assert.same({ ["web/one"] = true, ["web/two"] = true },
                backends_of(cookie_of(backend)))
        end
    end)
end)
