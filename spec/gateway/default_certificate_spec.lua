-- Hosts of an Ingress's tls without a Secret: they have the default certificate.
local ingress = require "resty.kubelua.gateway.ingress"

-- The settings of the path, and what differs.
local function compile(entry, certificate)
    local result = ingress.compile({ ingresses = { { metadata = { namespace = "web", name = "a" },
        spec = { ingressClassName = "nginx", tls = { entry }, rules = { {
            host = "a.example.com", http = { paths = { { path = "/", pathType = "Prefix",
            backend = { service = { name = "shop", port = { number = 80 } } } } } } } } } } } },
        { nginx = true, certificate = certificate })
    local problem = result.problems[1] or {}
    return (result.contributions["web/a"][1].rules[1].settings or {}).ssl_redirect, problem.message
end

describe("a host whose tls names no Secret", function()
    for name, entry in pairs { ["by name"] = { hosts = { "a.example.com" } },
        ["by wildcard"] = { hosts = { "*.example.com" }, secretName = "" },
        ["by the rules"] = {} } do
        it("redirects to HTTPS if there is a default certificate: " .. name, function()
            assert.same({ "tls" }, { compile(entry, "web/default") })
        end)

        it("is named where there is none: " .. name, function()
            local redirect, message = compile(entry)
            assert.is_nil(redirect)
            assert.match("tls names no Secret", message, 1, true)
        end)
    end

    it("is no other one", function()
        assert.same({}, { compile({ hosts = { "b.example.com" } }, "web/default") })
    end)
end)
