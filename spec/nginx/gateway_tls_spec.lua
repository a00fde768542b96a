-- TLS of the gateway: certificates from Secrets, by the name in the handshake.
local changes = require "chaos_changes"
local copies = require "nginx_copies"
local eventually = require "eventually"
local gateway_world = require "gateway_world"
local gateway_yaml = require "gateway_yaml"
local kubelua = require "kubelua"

local GATEWAY = gateway_yaml.gateway [[

  - {name: exact, port: 443, protocol: HTTPS, hostname: a.example.com,
     tls: {certificateRefs: [{name: a}]}}
  - {name: wild, port: 443, protocol: HTTPS, hostname: "*.example.com",
     tls: {certificateRefs: [{name: wild}]}}
  - {name: both, port: 443, protocol: HTTPS, hostname: both.example.net,
     tls: {certificateRefs: [{name: rsa}, {name: ec}]}}]] .. [[
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: all, namespace: web}
spec:
  parentRefs: [{name: main}]
  rules: [{backendRefs: [{name: one, port: 80}]}]
---
]] .. gateway_yaml.INGRESS_CLASS .. [[
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: old, namespace: web}
spec:
  ingressClassName: kubelua
  tls: [{hosts: [old.example.org], secretName: old}]
  rules:
  - host: old.example.org
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: two, port: {number: 80}}}}
]]

local folder

local function read(path)
    local file = assert(io.open(folder .. "/" .. path))
    local text = file:read("*a")
    file:close()
    return text
end

-- A pair of PEM texts for a name; `kind` is "rsa:2048" or "ec".
local function make_pair(name, kind)
    local key = kind == "ec" and "ec -pkeyopt ec_paramgen_curve:prime256v1" or "rsa:2048"
    local said, status = copies.shell(("cd %s && openssl req -x509 -newkey %s -nodes -days 2 "
        .. "-subj /CN=%s -keyout key.pem -out crt.pem"):format(folder, key, name))
    assert(status == 0, said)
    return read("crt.pem"), read("key.pem")
end

local function secret(name, certificate, key)
    return { apiVersion = "v1", kind = "Secret", type = "kubernetes.io/tls",
        metadata = { name = name, namespace = "web" },
        data = { ["tls.crt"] = kubelua.base64(certificate), ["tls.key"] = kubelua.base64(key) } }
end

describe("TLS of the gateway", function()
    local world, kept

    setup(function()
        folder = copies.shell("mktemp -d")
        world = gateway_world.start { load = GATEWAY }
        for name, subject in pairs { a = "a-1", wild = "wild-1", rsa = "rsa-1", old = "old-1" } do
            local certificate, key = make_pair(subject)
            kept = name == "a" and { certificate, key } or kept
            assert(world.sim:apply(secret(name, certificate, key)))
        end
        assert(world.sim:apply(secret("ec", make_pair("ec-1", "ec"))))
    end)

    teardown(function()
        world:close()
        copies.shell("rm -r " .. folder)
    end)

    -- The name in the certificate of a handshake; nil: there was none.
    local function shake(name, words)
        local said = copies.shell(("openssl s_client -connect 127.0.0.1:%d %s %s </dev/null 2>&1"
            .. " | openssl x509 -noout -subject"):format(world.tls_port,
            name and "-servername " .. name or "-noservername", words or ""))
        return said:match("CN ?= ?(%S+)")
    end

    local function expect(subject, name, words)
        local got
        eventually(function()
            got = shake(name, words)
            return got == subject
        end, function()
            return ("%s gets %s, not %s\n"):format(tostring(name), tostring(got),
                tostring(subject)) .. world.one:said()
        end, 10)
    end

    it("has the certificate of the exact name, else of the wildcard", function()
        expect("a-1", "a.example.com")
        expect("wild-1", "b.example.com")
        expect("old-1", "old.example.org")
    end)

    it("has no certificate for other names, and for clients without SNI", function()
        expect("a-1", "a.example.com")
        assert.is_nil(shake("other.example.net"))
        assert.is_nil(shake(nil))
    end)

    it("has RSA and ECDSA side by side", function()
        expect("ec-1", "both.example.net", "-sigalgs ECDSA+SHA256")
        expect("rsa-1", "both.example.net", "-sigalgs RSA-PSS+SHA256")
    end)

    it("answers requests, and redirects an Ingress's host to HTTPS", function()
        local said = copies.shell(("curl -sk --resolve a.example.com:%d:127.0.0.1 "
            .. "https://a.example.com:%d/path"):format(world.tls_port, world.tls_port))
        assert.truthy(said:find("web/one GET /path", 1, true), said)
        local _, head = world:expect(308, "old.example.org", "/path")
        assert.truthy(head:find("Location: https://old.example.org/path", 1, true), head)
    end)

    it("answers 421 to a host of another listener than that of the handshake", function()
        local function ask(host)
            return copies.shell(("curl -sk -o /dev/null -w '%%{http_code}' -H 'Host: %s' --resolve "
                .. "b.example.com:%d:127.0.0.1 https://b.example.com:%d/"):format(host,
                world.tls_port, world.tls_port))
        end
        assert.equal("200", ask("c.example.com"))
        assert.equal("421", ask("a.example.com"))
    end)

    it("takes a new version of a Secret", function()
        assert(world.sim:apply(secret("wild", make_pair("wild-2"))))
        expect("wild-2", "b.example.com")
    end)

    it("keeps the last good pair of a Secret that is broken, and says so", function()
        expect("a-1", "a.example.com")
        copies.shell(("cd %s && openssl pkey -aes256 -passout pass:x -in key.pem -out locked.pem; "
            .. "openssl req -x509 -newkey rsa:9216 -pkeyopt rsa_keygen_primes:5 -nodes -days 2 "
            .. "-subj /CN=a-9 -keyout big.pem -out big-crt.pem"):format(folder))
        for i, broken in ipairs { { kept[1], read("locked.pem") },
            { read("big-crt.pem"), read("big.pem") }, { "no certificate", kept[2] },
            { kept[1], "no key" }, { kept[1], select(2, make_pair("another")) } } do
            assert(world.sim:apply(secret("a", broken[1], broken[2])))
            eventually(function()
                return world.one:count("Secret web/a: tls.") == i
            end, function() return "the log names the Secret\n" .. world.one:said() end, 10)
            assert.equal("a-1", shake("a.example.com"))
        end
        world.one:signal("KILL", world:owner())
        assert(world.sim:apply(secret("wild", make_pair("wild-3"))))
        expect("wild-3", "b.example.com") -- the next owner has published
        assert.equal("a-1", shake("a.example.com"))
        assert(world.sim:apply(secret("a", make_pair("a-2"))))
        expect("a-2", "a.example.com")
    end)

    it("keeps it when a pair comes that has expired, in the next owner too", function()
        assert(world.sim:apply(secret("a", changes.pair("a", 3, 3600))))
        expect("a-3", "a.example.com")
        assert(world.sim:apply(secret("a", changes.pair("a", 4, -60))))
        eventually(function()
            return world.one:count("Secret web/a: the certificate has expired; the one before") > 0
        end, function() return "the log names the Secret\n" .. world.one:said() end, 10)
        assert.equal("a-3", shake("a.example.com"))
        world.one:signal("KILL", world:owner())
        assert(world.sim:apply(secret("wild", make_pair("wild-4"))))
        expect("wild-4", "b.example.com") -- the next owner has published
        assert.equal("a-3", shake("a.example.com"))
    end)

    it("serves a pair that has expired if there is no other, and then the newer one", function()
        assert(world.sim:delete("secrets", "web/old"))
        expect(nil, "old.example.org")
        for number = 2, 3 do
            assert(world.sim:apply(secret("old", changes.pair("old", number, -60))))
            expect("old-" .. number, "old.example.org")
        end
    end)
end)
