-- What the conformance suite of the Gateway API asks of statuses (profile GATEWAY-HTTP), with
-- objects and words of our own: for machines without Go. Each case is named after the tests that it
-- stands for.
local cases = require "gateway_cases"
local gateway_world = require "gateway_world"

local CLASS = [[
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: kubelua}
spec: {controllerName: kubelua.dev/gateway}
---
apiVersion: v1
kind: Namespace
metadata: {name: labelled, labels: {team: red}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {name: all-secrets, namespace: certs}
spec:
  from: [{group: gateway.networking.k8s.io, kind: Gateway, namespace: granted}]
  to: [{group: "", kind: Secret}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {name: one-secret, namespace: certs}
spec:
  from: [{group: gateway.networking.k8s.io, kind: Gateway, namespace: specific}]
  to: [{group: "", kind: Secret, name: good}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {name: wrong, namespace: certs}
spec:
  from: [{group: wrong.group, kind: Gateway, namespace: refused}, {group: gateway.networking.k8s.io,
    kind: HTTPRoute, namespace: refused}]
  to: [{group: "", kind: Secret}]
---
]]

local GATEWAY = [[
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: %s, namespace: %s}
spec:
  gatewayClassName: kubelua
  listeners:
  - {name: main, %s}
---
]]

local ROUTE = [[
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %s, namespace: %s}
spec:
  parentRefs: [{name: %s}]
  hostnames: [%s]
  rules: [{backendRefs: [{%s}]}]
---
]]

local texts = { CLASS }
local ASKED = {}

-- A Gateway "NAMESPACE/NAME" with a listener, and the conditions of that listener.
local function gateway(test, name, listener, wanted)
    local namespace, own = name:match("^(.-)/(.*)$")
    texts[#texts + 1] = GATEWAY:format(own, namespace, listener)
    ASKED[#ASKED + 1] = { test, "gateways " .. name .. " main", wanted }
end

local function route(test, name, parent, host, backend, wanted)
    local namespace, own = name:match("^(.-)/(.*)$")
    texts[#texts + 1] = ROUTE:format(own, namespace, parent, host, backend)
    ASKED[#ASKED + 1] = { test, "httproutes " .. name, wanted }
end

local function https(host, reference, more)
    return ("port: 443, protocol: HTTPS, hostname: %s, tls: {certificateRefs: [{%s}]}%s"):format(
        host, reference, more or "")
end

local GOOD = { Accepted = "True Accepted", ResolvedRefs = "True ResolvedRefs",
    Programmed = "True Programmed" }
local function unresolved(reason, programmed)
    return { ResolvedRefs = "False " .. reason, Programmed = programmed or "False Invalid" }
end

gateway("GatewayWithAttachedRoutes", "infra/main", "port: 80, protocol: HTTP, hostname: "
    .. "'*.example.com', allowedRoutes: {namespaces: {from: Same}}", GOOD)
gateway("GatewayWithAttachedRoutes, by label", "infra/selected", "port: 80, protocol: HTTP, "
    .. "hostname: a.example.net, allowedRoutes: {namespaces: {from: Selector, selector: "
    .. "{matchLabels: {team: red}}}}", GOOD)
gateway("GatewayInvalidRouteKind", "infra/kinds", "port: 80, protocol: HTTP, hostname: "
    .. "b.example.net, allowedRoutes: {kinds: [{kind: InvalidRoute}]}",
    unresolved("InvalidRouteKinds"))
gateway("GatewayInvalidTLSConfiguration: no Secret", "infra/no-secret",
    https("c.example.net", "name: nothing"), unresolved("InvalidCertificateRef"))
gateway("GatewayInvalidTLSConfiguration: no Secret by kind", "infra/no-kind",
    https("d.example.net", "kind: Something, name: good"), unresolved("InvalidCertificateRef"))
gateway("GatewayInvalidTLSConfiguration: broken", "infra/broken",
    https("e.example.net", "name: broken"), unresolved("InvalidCertificateRef"))
gateway("HTTPRouteHTTPSListener", "infra/tls", https("f.example.net", "name: good"), GOOD)
gateway("GatewaySecretMissingReferenceGrant", "infra/far", https("g.example.net",
    "name: good, namespace: certs"), unresolved("RefNotPermitted"))
gateway("GatewaySecretInvalidReferenceGrant", "refused/far", https("h.example.net",
    "name: good, namespace: certs"), unresolved("RefNotPermitted"))
gateway("GatewaySecretReferenceGrantAllInNamespace", "granted/far", https("i.example.net",
    "name: good, namespace: certs"), GOOD)
gateway("GatewaySecretReferenceGrantSpecific", "specific/far", https("j.example.net",
    "name: good, namespace: certs"), GOOD)

route("HTTPRouteSimpleSameNamespace", "infra/good", "main", "a.example.com",
    "name: one, port: 80", { Accepted = "True Accepted", ResolvedRefs = "True ResolvedRefs" })
route("HTTPRouteInvalidCrossNamespaceParentRef", "apps/far", "main, namespace: infra",
    "b.example.com", "name: far, port: 80", { Accepted = "False NotAllowedByListeners" })
route("HTTPRouteInvalidParentRefNotMatchingSectionName", "infra/section", "main, sectionName: "
    .. "other", "c.example.com", "name: one, port: 80", { Accepted = "False NoMatchingParent" })
route("HTTPRouteInvalidParentRefNotMatchingListenerPort", "infra/port", "main, port: 81",
    "c.example.com", "name: one, port: 80", { Accepted = "False NoMatchingParent" })
route("HTTPRouteParentRefPort", "infra/port-80", "main, port: 80", "d.example.com",
    "name: one, port: 80", { Accepted = "True Accepted" })
route("HTTPRouteHostnameIntersection", "infra/host", "main", "a.example.org",
    "name: one, port: 80", { Accepted = "False NoMatchingListenerHostname" })
route("HTTPRouteInvalidBackendRefUnknownKind", "infra/kind", "main", "e.example.com",
    "group: \"\", kind: Unknown, name: one, port: 80", { Accepted = "True Accepted",
        ResolvedRefs = "False InvalidKind" })
route("HTTPRouteInvalidNonExistentBackendRef", "infra/missing", "main", "f.example.com",
    "name: nothing, port: 80", { ResolvedRefs = "False BackendNotFound" })
route("HTTPRouteInvalidCrossNamespaceBackendRef", "infra/denied", "main", "g.example.com",
    "name: far, namespace: apps, port: 80", { ResolvedRefs = "False RefNotPermitted" })
route("HTTPRoute to a Gateway's label", "labelled/by", "selected, namespace: infra",
    "a.example.net", "name: here, port: 80", { Accepted = "True Accepted" })
route("HTTPRoute to a Gateway without the label", "apps/by", "selected, namespace: infra",
    "a.example.net", "name: far, port: 80", { Accepted = "False NotAllowedByListeners" })

describe("what the conformance suite asks of statuses", function()
    local world

    setup(function()
        local copies = require "nginx_copies"
        local kubelua = require "kubelua"
        local folder = copies.shell("mktemp -d")
        copies.certificate(folder, "a")
        world = gateway_world.start { load = table.concat(texts):gsub("%-%-%-\n$", ""),
            services = { "infra/one", "apps/far", "labelled/here" } }
        for _, name in ipairs { "infra/good", "infra/broken", "certs/good" } do
            local function read(path)
                local text = copies.shell("cat " .. folder .. "/" .. path) .. "\n"
                return kubelua.base64(name:find("broken") and "no PEM" or text)
            end
            local namespace, own = name:match("^(.-)/(.*)$")
            assert(world.sim:apply { apiVersion = "v1", kind = "Secret",
                type = "kubernetes.io/tls", metadata = { name = own, namespace = namespace },
                data = { ["tls.crt"] = read("crt.pem"), ["tls.key"] = read("key.pem") } })
        end
        copies.shell("rm -r " .. folder)
    end)

    teardown(function()
        world:close()
    end)

    for _, case in ipairs(ASKED) do
        it(case[1], function()
            cases.expect_conditions(world, case[2], case[3])
        end)
    end

    it("GatewayClassObservedGenerationBump", function()
        cases.expect_conditions(world, "gatewayclasses kubelua", { Accepted = "True Accepted" })
        assert(world.sim:patch("gatewayclasses", "kubelua", { spec = { description = "new" } }))
        assert(world.sim:wait("gatewayclasses", "kubelua", function(found)
            return found.status.conditions[1].observedGeneration == found.metadata.generation
        end, 10))
    end)

    it("GatewayModifyListeners, GatewayObservedGenerationBump", function()
        local function load(listeners)
            assert(world.sim:patch("gateways", "infra/main", { spec = { listeners = listeners } }))
            assert(world.sim:wait("gateways", "infra/main", function(found)
                return #found.status.listeners == #listeners
                    and found.status.conditions[1].observedGeneration == found.metadata.generation
            end, 10))
        end
        local main = { name = "main", port = 80, protocol = "HTTP", hostname = "*.example.com" }
        load { main, { name = "more", port = 80, protocol = "HTTP", hostname = "k.example.net" } }
        cases.expect_conditions(world, "gateways infra/main more", GOOD)
        load { main }
        cases.expect_conditions(world, "gateways infra/main main", GOOD)
    end)

    it("HTTPRouteObservedGenerationBump, and how many routes are attached", function()
        assert(world.sim:patch("httproutes", "infra/good", { spec = {
            hostnames = { "new.example.com" } } }))
        assert(world.sim:wait("httproutes", "infra/good", function(found)
            local list = found.status.parents[1].conditions
            return list[1].observedGeneration == found.metadata.generation
        end, 10))
        world:expect("infra/one", "new.example.com", "/")
        assert(world.sim:wait("gateways", "infra/main", function(found)
            return found.status.listeners[1].attachedRoutes == 5
        end, 10))
    end)
end)
