-- Gateways and their listeners: conditions, certificates, addresses, conflicts.
package.path = "spec/gateway/?.lua;" .. package.path
local objects = require "gateway_objects"

local listener = objects.listener

local function https(name, port, ref, more)
    local spec = listener(name, port, { protocol = "HTTPS",
        tls = { certificateRefs = { ref or { name = "cert" } } } })
    for key, value in pairs(more or {}) do
        spec[key] = value
    end
    return spec
end

local function certificate(namespace, name)
    if name == "cert" then
        return true
    end
    return nil, namespace .. "/" .. name .. " is broken"
end

-- The result for one Gateway, and a function for a listener's condition.
local function compile(listeners, options, more, ...)
    options = options or {}
    options.certificate = options.certificate or certificate
    local gate = objects.gateway("web/gate", listeners, more)
    local result = objects.compiler(options, gate, ...):run()
    return result, function(name, kind)
        local found = objects.of_listener(result, "Gateway web/gate", name)
        return (objects.condition(found.conditions, kind))
    end
end

local function condition(result, kind, name)
    return (objects.condition(objects.status(result, name or "Gateway web/gate").conditions, kind))
end

describe("a GatewayClass", function()
    it("is accepted, with its version and features in order", function()
        local result = objects.compiler { features = { "HTTPRoute", "Gateway" } }:run()
        local status = objects.status(result, "GatewayClass kubelua")
        assert.equal("Accepted True Accepted",
            (objects.condition(status.conditions, "Accepted")))
        assert.equal("SupportedVersion True SupportedVersion",
            (objects.condition(status.conditions, "SupportedVersion")))
        assert.same({ { name = "Gateway" }, { name = "HTTPRoute" } }, status.supportedFeatures)
        assert.equal(1, status.conditions[1].observedGeneration)
    end)

    it("says that the version of the CRDs is unknown", function()
        for bundle, reason in pairs { ["v1.7.0"] = "False UnsupportedVersion",
            ["v2.0.0"] = "False UnsupportedVersion", ["x"] = "False UnsupportedVersion",
            ["v1.4.1"] = "True SupportedVersion" } do
            local result = objects.compiler { bundle = bundle }:run()
            assert.equal("SupportedVersion " .. reason,
                condition(result, "SupportedVersion", "GatewayClass kubelua"))
        end
    end)

    it("of another controller is left alone, and its Gateways", function()
        local class = objects.class()
        class.spec.controllerName = "example.com/other"
        local compiler = objects.compiler(nil, class,
            objects.gateway("web/gate", { listener("a", 80) }))
        local result = compiler:run()
        assert.same({}, result.statuses)
        assert.same({}, result.entries)
    end)

    it("with parameters is not accepted, and its Gateways are not served", function()
        local class = objects.class()
        class.spec.parametersRef = { group = "x", kind = "Y", name = "z" }
        local result = objects.compiler(nil, class,
            objects.gateway("web/gate", { listener("a", 80) })):run()
        assert.equal("Accepted False InvalidParameters",
            condition(result, "Accepted", "GatewayClass kubelua"))
        assert.same({}, result.entries)
    end)
end)

describe("a Gateway", function()
    it("is accepted and programmed, with addresses and the kinds of routes", function()
        local result, of = compile { listener("a", 80) }
        assert.equal("Accepted True Accepted", condition(result, "Accepted"))
        assert.equal("Programmed True Programmed", condition(result, "Programmed"))
        for kind, text in pairs { Accepted = "True Accepted", Programmed = "True Programmed",
            ResolvedRefs = "True ResolvedRefs", Conflicted = "False NoConflicts" } do
            assert.equal(kind .. " " .. text, of("a", kind))
        end
        local group = "gateway.networking.k8s.io"
        local kinds = objects.of_listener(result, "Gateway web/gate", "a").supportedKinds
        assert.same({ { group = group, kind = "HTTPRoute" },
            { group = group, kind = "GRPCRoute" } }, kinds)
        assert.same({ { type = "IPAddress", value = "10.0.0.1" } },
            objects.status(result, "Gateway web/gate").addresses)
    end)

    it("with only unknown protocols is not accepted; with another listener it is", function()
        local unknown = listener("bad", 1111, { protocol = "INVALID" })
        local result, of = compile { unknown }
        assert.equal("Accepted False ListenersNotValid", condition(result, "Accepted"))
        assert.equal("Programmed False Invalid", condition(result, "Programmed"))
        assert.equal("Accepted False UnsupportedProtocol", of("bad", "Accepted"))
        assert.same({}, objects.of_listener(result, "Gateway web/gate", "bad").supportedKinds)
        result, of = compile { listener("http", 80), unknown }
        assert.equal("Accepted True ListenersNotValid", condition(result, "Accepted"))
        assert.equal("Programmed True Programmed", condition(result, "Programmed"))
        assert.equal("Accepted True Accepted", of("http", "Accepted"))
        assert.equal("Accepted False UnsupportedProtocol", of("bad", "Accepted"))
    end)

    it("with parameters is not accepted", function()
        local result = compile({ listener("a", 80) }, nil,
            { infrastructure = { parametersRef = { group = "x", kind = "Y", name = "z" } } })
        assert.equal("Accepted False InvalidParameters", condition(result, "Accepted"))
        assert.same({}, result.entries)
    end)
end)

describe("kinds of routes on a listener", function()
    local function kinds(...)
        local list = {}
        for i, kind in ipairs { ... } do
            list[i] = { kind = kind }
        end
        local result, of = compile { listener("a", 80, { allowedRoutes = { kinds = list } }) }
        local supported = {}
        local found = objects.of_listener(result, "Gateway web/gate", "a")
        for i, kind in ipairs(found.supportedKinds) do
            supported[i] = kind.kind
        end
        return table.concat(supported, " "), of("a", "ResolvedRefs"), of("a", "Programmed")
    end

    it("are those that it names and that are known", function()
        assert.same({ "HTTPRoute", "ResolvedRefs True ResolvedRefs", "Programmed True Programmed" },
            { kinds("HTTPRoute") })
        assert.same({ "", "ResolvedRefs False InvalidRouteKinds", "Programmed False Invalid" },
            { kinds("InvalidRoute") })
        assert.same({ "HTTPRoute", "ResolvedRefs False InvalidRouteKinds",
            "Programmed True Programmed" }, { kinds("InvalidRoute", "HTTPRoute") })
    end)

    it("leave out GRPCRoutes on HTTP where nginx speaks no h2c", function()
        local result, of = compile({ listener("a", 80), https("b", 443), listener("c", 81,
            { allowedRoutes = { kinds = { { kind = "GRPCRoute" } } } }) }, { h2c = false })
        local counts = {}
        for i, item in ipairs(objects.status(result, "Gateway web/gate").listeners) do
            counts[i] = #item.supportedKinds
        end
        assert.same({ 1, 2, 0 }, counts)
        assert.equal("ResolvedRefs False InvalidRouteKinds", of("c", "ResolvedRefs"))
    end)
end)

describe("certificates of a listener", function()
    it("are named by entry and host", function()
        local result = compile { https("a", 443), https("b", 443, nil, { hostname = "b.com" }) }
        assert.same({ ["*:443 *"] = { "web/cert" }, ["*:443 b.com"] = { "web/cert" } },
            result.certificates)
        assert.same({ ["*"] = { tls = true }, ["b.com"] = { tls = true } },
            result.entries["*:443"].listeners)
    end)

    local INVALID = {
        ["that is not there"] = { name = "nonexistent" },
        ["of another group"] = { group = "wrong.group.company.io", kind = "Secret", name = "cert" },
        ["of another kind"] = { group = "", kind = "WrongKind", name = "cert" },
    }
    for name, ref in pairs(INVALID) do
        it("leave it without requests for one " .. name .. ", but routes attach", function()
            local result, of = compile({ https("tls", 443, ref) }, nil, nil,
                objects.route("web/r", { rules = { {} } }))
            assert.equal("ResolvedRefs False InvalidCertificateRef", of("tls", "ResolvedRefs"))
            assert.equal("Programmed False Invalid", of("tls", "Programmed"))
            assert.equal("Accepted True Accepted", of("tls", "Accepted"))
            assert.equal(1, objects.of_listener(result, "Gateway web/gate", "tls").attachedRoutes)
            assert.same({}, result.entries)
            assert.same({}, result.hosts)
        end)
    end

    it("in another namespace need a ReferenceGrant; the Gateway follows it", function()
        local ref = { name = "cert", namespace = "data" }
        local grant = objects.grant("data/grant", { group = "gateway.networking.k8s.io",
            kind = "Gateway", namespace = "web" }, { group = "", kind = "Secret", name = "cert" })
        local compiler = objects.compiler({ certificate = certificate },
            objects.gateway("web/gate", { https("tls", 443, ref) }))
        local function resolved()
            local found = objects.of_listener(compiler:run(), "Gateway web/gate", "tls")
            return (objects.condition(found.conditions, "ResolvedRefs"))
        end
        assert.equal("ResolvedRefs False RefNotPermitted", resolved())
        compiler:set("ReferenceGrant", grant)
        assert.equal("ResolvedRefs True ResolvedRefs", resolved())
        compiler:delete("ReferenceGrant", grant)
        assert.equal("ResolvedRefs False RefNotPermitted", resolved())
    end)

    it("are looked at again when their Secret is touched", function()
        local valid = false
        local compiler = objects.compiler({ certificate = function()
            return valid or nil, "not yet"
        end }, objects.gateway("web/gate", { https("tls", 443) }))
        assert.same({}, compiler:run().entries)
        valid = true
        compiler:touch("Secret", "web", "another")
        assert.same({}, compiler:run().entries)
        compiler:touch("Secret", "web", "cert")
        local result = compiler:run()
        assert.is_table(result.entries["*:443"])
        assert.same({ "web/cert" }, result.certificates["*:443 *"])
    end)

    it("of clients are not checked, so such a listener is refused", function()
        local _, of = compile({ https("tls", 443), listener("http", 80) }, nil, { tls = {
            frontend = { default = { validation = { caCertificateRefs = {} } } } } })
        assert.equal("Accepted False UnsupportedValue", of("tls", "Accepted"))
        assert.equal("Accepted True Accepted", of("http", "Accepted"))
    end)
end)

describe("listeners of one port", function()
    it("with the same hostname, or different protocols, are all refused", function()
        local result, of = compile { listener("a", 80, { hostname = "x.com" }),
            listener("b", 80, { hostname = "X.com" }), listener("c", 80, { hostname = "y.com" }),
            listener("d", 81), https("e", 81) }
        for name, reason in pairs { a = "HostnameConflict", b = "HostnameConflict",
            d = "ProtocolConflict", e = "ProtocolConflict" } do
            assert.equal("Conflicted True " .. reason, of(name, "Conflicted"))
            assert.equal("Accepted False " .. reason, of(name, "Accepted"))
            assert.equal("Programmed False " .. reason, of(name, "Programmed"))
        end
        assert.equal("Conflicted False NoConflicts", of("c", "Conflicted"))
        assert.equal("Accepted True ListenersNotValid", condition(result, "Accepted"))
        assert.same({ "*:80" }, objects.keys(result.entries))
        assert.same({ "y.com" }, objects.keys(result.entries["*:80"].listeners))
    end)

    it("that nginx does not listen on are refused", function()
        local _, of = compile({ listener("a", 80), listener("b", 81) }, { ports = { [80] = true } })
        assert.equal("Accepted True Accepted", of("a", "Accepted"))
        assert.equal("Accepted False PortUnavailable", of("b", "Accepted"))
    end)

    it("with TLS say that their hostnames overlap", function()
        local _, of = compile { https("a", 443, nil, { hostname = "*.x.com" }),
            https("b", 443, nil, { hostname = "a.x.com" }),
            https("c", 443, nil, { hostname = "y.com" }) }
        for _, name in ipairs { "a", "b" } do
            assert.equal("OverlappingTLSConfig True OverlappingHostnames",
                of(name, "OverlappingTLSConfig"))
        end
        assert.is_nil(of("c", "OverlappingTLSConfig"))
    end)

    it("of Gateways that share an address speak what the oldest says", function()
        local newer = objects.gateway("web/newer", { https("b", 80) })
        newer.metadata.creationTimestamp = "2026-02-01T00:00:00Z"
        local result = compile({ listener("a", 80) }, nil, nil, newer)
        local found = objects.of_listener(result, "Gateway web/newer", "b")
        assert.equal("Accepted False PortUnavailable",
            (objects.condition(found.conditions, "Accepted")))
        assert.equal("Accepted False ListenersNotValid",
            condition(result, "Accepted", "Gateway web/newer"))
        assert.same({ tls = false }, result.entries["*:80"].listeners["*"])
    end)
end)

describe("addresses", function()
    local POOL = { pool = { "127.0.1.1", "127.0.1.2" } }

    local function address_of(result, name)
        local status = objects.status(result, "Gateway web/" .. name)
        return status and status.addresses[1] and status.addresses[1].value
    end

    it("of a pool are one for each Gateway, and kept", function()
        local a, b, c = objects.gateway("web/a", { listener("http", 80) }),
            objects.gateway("web/b", { listener("http", 80) }),
            objects.gateway("web/c", { listener("http", 80) })
        local compiler = objects.compiler(POOL, a, b, c)
        local result = compiler:run()
        assert.equal("127.0.1.1", address_of(result, "a"))
        assert.equal("127.0.1.2", address_of(result, "b"))
        assert.equal("Programmed False AddressNotAssigned",
            condition(result, "Programmed", "Gateway web/c"))
        assert.same({ "127.0.1.1:80", "127.0.1.2:80" }, objects.keys(result.entries))
        compiler:delete("Gateway", a)
        result = compiler:run()
        assert.equal("127.0.1.1", address_of(result, "c"))
        assert.is_nil(objects.status(result, "Gateway web/b").addresses[2])
        assert.equal("127.0.1.2", address_of(result, "b"))
    end)

    it("of a status are kept by an owner that starts anew", function()
        local a, b = objects.gateway("web/a", { listener("http", 80) }),
            objects.gateway("web/b", { listener("http", 80) })
        b.status = { addresses = { { type = "IPAddress", value = "127.0.1.1" } } }
        local result = objects.compiler(POOL, a, b):run()
        assert.equal("127.0.1.2", address_of(result, "a"))
        assert.equal("127.0.1.1", address_of(result, "b"))
    end)

    it("that a spec asks for are taken, refused by type, or unusable", function()
        local function ask(...)
            return compile({ listener("http", 80) }, { pool = POOL.pool }, { addresses = { ... } })
        end
        local usable = { type = "IPAddress", value = "127.0.1.2" }
        local result = ask({ type = "test/unknown", value = "x" }, usable)
        assert.equal("Accepted False UnsupportedAddress", condition(result, "Accepted"))
        result = ask({ value = "192.0.2.1" }, usable)
        assert.equal("Accepted True Accepted", condition(result, "Accepted"))
        assert.equal("Programmed False AddressNotUsable", condition(result, "Programmed"))
        result = ask(usable)
        assert.equal("Programmed True Programmed", condition(result, "Programmed"))
        assert.equal("127.0.1.2", address_of(result, "gate"))
        result = ask({ type = "IPAddress" })
        assert.equal("127.0.1.1", address_of(result, "gate"))
    end)

    it("of IPv6 are in brackets", function()
        local result = compile({ listener("http", 80) }, { pool = { "fd00::1" } })
        assert.same({ "[fd00::1]:80" }, objects.keys(result.entries))
    end)
end)
