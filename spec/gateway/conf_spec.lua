-- The nginx.conf of the gateway, as `kubelua gateway init` prints it; and the rights in
-- docs/GATEWAY.md beside the kinds that are watched.
package.path = "spec/support/?.lua;" .. package.path
local conf = require "resty.kubelua.gateway.conf"
local kinds = require "resty.kubelua.gateway.kinds"
local page = require "page"

local function text_of(changes)
    local options = { modules = "load_module a.so; load_module b.so;", lua_path = "/l/?.lua;;",
        lua_cpath = "/c/?.so;;", ports = { 80 }, tls_ports = { 443 }, admin = "127.0.0.1:8181" }
    for name, value in pairs(changes or {}) do
        options[name] = value
    end
    return conf.text(options)
end

describe("the nginx.conf of the gateway", function()
    it("has less than 40 lines, and none is empty", function()
        local text = "# head\n" .. text_of { named = { [80] = 80 }, options = "nginx = true" }
        local _, count = text:gsub("\n", "")
        assert.truthy(count < 40, count .. " lines")
        assert.falsy(text:find("\n%s*\n"))
    end)

    it("names the Gateway's port of each port", function()
        local text = text_of { ports = { 8080, 9000 }, tls_ports = { 8443 },
            named = { [8080] = 80, [8443] = 443 } }
        assert.truthy(text:find("ports = { [8080] = 80, [9000] = 9000, [8443] = 443 }", 1, true),
            text)
        assert.truthy(text:find("listen 8080; listen 9000; listen 8443 ssl;", 1, true), text)
    end)

    it("switches HTTP/2 on as nginx's version wants it", function()
        assert.truthy(text_of { http2 = "listen" }:find("listen 80; listen 443 ssl http2;", 1,
            true))
        assert.truthy(text_of { http2 = "directive" }:find("listen 443 ssl; http2 on;", 1, true))
    end)

    it("says how hosts outside of the cluster are found, if it is known", function()
        local text = text_of { resolvers = { "10.0.0.1", "[fd00::1]" }, authorities = "/ca.pem" }
        assert.truthy(text:find("resolver 10.0.0.1 [fd00::1]; resolver_timeout 5s; "
            .. "lua_ssl_trusted_certificate /ca.pem;", 1, true), text)
        assert.falsy(text_of():find("resolver ", 1, true))
        local _, count = text:gsub("\n", "")
        assert.truthy(count < 39, count .. " lines")
    end)

    it("has no TLS without a port for it", function()
        local text = text_of { tls_ports = {} }
        assert.falsy(text:find("ssl_certificate", 1, true))
    end)
end)

describe("the rights in docs/GATEWAY.md", function()
    it("name each kind that is watched, and each status that is written", function()
        local rules = page.read("docs/GATEWAY.md"):match("```yaml\n(rules:.-)```")
        for _, kind in ipairs(kinds.ALL) do
            assert.truthy(rules:find("[%[ ]" .. kind.plural .. "[,%]]"), kind.plural)
            assert.equal(kind.status == true, rules:find(kind.plural .. "/status", 1, true) ~= nil,
                kind.plural .. "/status")
        end
    end)
end)
