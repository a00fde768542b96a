-- A load balancer before the gateway ends TLS, and says so in X-Forwarded-Proto.
local gateway_world = require "gateway_world"

local TRUST = [[
    geo $remote_addr $from_balancer { default 0; 127.0.0.2 1; }
    map "$from_balancer $http_x_forwarded_proto" $kubelua_proto {
        default $scheme; "1 https" https; "1 http" http;
    }
    map $kubelua_proto $kubelua_port { https 443; default 80; }
]]

local HTTPS = "-H 'X-Forwarded-Proto: https' "
local BALANCER = "--interface 127.0.0.2 " .. HTTPS

describe("the gateway behind a load balancer that ends TLS", function()
    local world

    setup(function()
        world = gateway_world.start { options = "nginx = true", http = TRUST }
    end)

    teardown(function()
        world:close()
    end)

    it("tells backends the scheme of the client, which others cannot claim", function()
        local host = world:ingress("told", {})
        world:expect("port=80 scheme=http,http ", host, "/told", HTTPS)
        world:expect("port=443 scheme=https,https ", host, "/told", BALANCER)
    end)

    it("redirects to HTTPS once only", function()
        local host = world:ingress("forced", { ["force-ssl-redirect"] = "true",
            ["app-root"] = "/app" })
        local _, head = world:expect(308, host, "/x", HTTPS)
        assert.match("Location: https://forced.example.com/x", head, 1, true)
        world:expect("web/one GET /x ", host, "/x", BALANCER)
        _, head = world:expect(302, host, "/", BALANCER)
        assert.match("Location: https://forced.example.com/app", head, 1, true)
    end)

    it("sends browsers back to where they came from after the login", function()
        local host = world:ingress("login", { ["auth-url"] = "http://two.web.svc/auth",
            ["auth-signin"] = "https://sso.example.com/start" })
        local _, head = world:expect(302, host, "/x", BALANCER)
        assert.match("start?rd=https://login.example.com%2Fx", head, 1, true)
    end)
end)
