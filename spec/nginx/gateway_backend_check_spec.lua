-- Backends of HTTPS whose certificates nginx checks: two directives in the part http of nginx.conf,
-- as docs/GATEWAY.md advises for proxy-ssl-verify.
local copies = require "nginx_copies"
local gateway_world = require "gateway_world"
local nginx = require "nginx"
local slices = require "slices"

describe("a backend's certificate", function()
    local world, backend, folder

    setup(function()
        folder = copies.shell("mktemp -d")
        copies.certificate(folder, "shop", "-addext subjectAltName=DNS:shop.internal")
        local port = copies.free_ports(1)[1]
        backend = nginx.start { workers = 1, server = "location / { return 200 ok; }",
            http = ("server { listen 127.0.0.1:%d ssl; ssl_certificate %s/crt.pem; "
                .. "ssl_certificate_key %s/key.pem; location / { return 200 \"checked\"; } }")
                :format(port, folder, folder) }
        world = gateway_world.start { options = "nginx = true", http = ("proxy_ssl_verify on; "
            .. "proxy_ssl_trusted_certificate %s/crt.pem;"):format(folder) }
        assert(world.sim:load(slices.service("web", "secure")))
        assert(world.sim:load(slices.slice("web", "secure", "secure-1", { "127.0.0.1" }, port)))
    end)

    teardown(function()
        world:close()
        backend:close()
        copies.shell("rm -r " .. folder)
    end)

    local function ingress(name, tls_name)
        return world:ingress(name, { ["backend-protocol"] = "HTTPS",
            ["proxy-ssl-name"] = tls_name }, nil, "secure")
    end

    it("has to be of the name that the Ingress gives", function()
        world:expect("checked", ingress("right", "shop.internal"), "/")
        world:expect(502, ingress("wrong", "other.internal"), "/")
        assert.truthy(world.one:said():find("does not match \"other.internal\"", 1, true))
    end)
end)
