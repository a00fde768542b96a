-- The nginx.conf of the gateway, as `kubelua gateway init` prints it; and the rights in
-- docs/GATEWAY.md beside the kinds that are watched.
package.path = "spec/support/?.lua;" .. package.path
local conf = require "resty.kubelua.gateway.conf"
local places = require "resty.kubelua.gateway.balance.places"
local kinds = require "resty.kubelua.gateway.kinds"
local page = require "page"

local SHARE = "/usr/share/lua/5.1"
local FILES = "lua/resty/kubelua/gateway/nginx"

local function text_of(changes)
    local options = { modules = "load_module a.so;\nload_module b.so;",
        lua_path = ("%s/?.lua;%s/?/init.lua;;"):format(SHARE, SHARE),
        lua_cpath = "/usr/lib/x86_64-linux-gnu/lua/5.1/?.so;;", ports = { 80 },
        tls_ports = { 443 }, admin = "127.0.0.1:8181",
        files = SHARE .. "/resty/kubelua/gateway/nginx" }
    for name, value in pairs(changes or {}) do
        options[name] = value
    end
    return conf.text(options)
end

describe("the nginx.conf of the gateway", function()
    it("has less than 40 lines, none of which is empty or long", function()
        local text = "# head\n" .. text_of { named = { [80] = 80 }, http2 = "listen",
            options = "addresses = { \"192.0.2.1\" },\npool = { \"10.43.0.0/24\" },\nnginx = true",
            resolvers = { "10.0.0.1", "[fd00::1]" },
            authorities = "/etc/pki/tls/certs/ca-bundle.crt" }
        local count = 0
        for line in text:gmatch("([^\n]*)\n") do
            count = count + 1
            assert.truthy(line:find("%S") and #line <= 100, line)
        end
        assert.truthy(count < 40, count .. " lines")
    end)

    it("includes files whose lines are as short", function()
        for name in text_of():gmatch("include " .. SHARE .. "/(%S+);") do
            for line in io.lines("lua/" .. name) do
                assert.truthy(#line <= 100, line)
            end
        end
    end)

    it("has a location for each set of statuses after which a request is sent again", function()
        local text, numbers = page.read(FILES .. "/retries.conf"), { 500, 502, 503, 504 }
        for set = 0, 15 do
            local on, words = { invalid_header = true }, ""
            for i, status in ipairs(numbers) do
                if set % 2 ^ i >= 2 ^ (i - 1) then
                    on[tostring(status)] = true
                    words = words .. " http_" .. status
                end
            end
            for _, first in ipairs { "", " non_idempotent" } do
                local name = places.of(on, first ~= "")
                local location = text:match("\nlocation " .. name .. " (%b{})")
                location = location:gsub("%s+", " ")
                assert.truthy(location:find("proxy_next_upstream error timeout invalid_header"
                    .. first .. words .. ";", 1, true), location)
            end
        end
    end)

    it("names the Gateway's port of each port", function()
        local text = text_of { ports = { 8080, 9000 }, tls_ports = { 8443 },
            named = { [8080] = 80, [8443] = 443 } }
        assert.truthy(text:find("ports = { [8080] = 80, [9000] = 9000, [8443] = 443 }", 1, true),
            text)
        assert.matches("listen 8080;%s+listen 9000;%s+listen 8443 ssl;", text)
    end)

    it("switches HTTP/2 on as nginx's version wants it", function()
        assert.matches("listen 80;%s+listen 443 ssl http2;", text_of { http2 = "listen" })
        assert.matches("listen 443 ssl;%s+http2 on;", text_of { http2 = "directive" })
    end)

    it("says how hosts outside of the cluster are found, if it is known", function()
        local text = text_of { resolvers = { "10.0.0.1", "[fd00::1]" }, authorities = "/ca.pem" }
        assert.matches("resolver 10.0.0.1 %[fd00::1%];%s+resolver_timeout 5s;%s+"
            .. "lua_ssl_trusted_certificate /ca.pem;", text)
        assert.falsy(text_of():find("resolver ", 1, true))
    end)

    it("has no TLS without a port for it", function()
        local text = text_of { tls_ports = {} }
        assert.falsy(text:find("tls.conf", 1, true))
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
