-- Passwords before the paths of an Ingress, in a real nginx.
local eventually = require "eventually"
local gateway_world = require "gateway_world"
local kubelua = require "kubelua"

local APR1 = "$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/" -- of "secret"
local BCRYPT = "$2y$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a" -- of "secret"
local BCRYPT_12 = "$2y$12$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a"

describe("basic authentication", function()
    local world

    setup(function()
        world = gateway_world.start { options = "nginx = true" }
    end)

    teardown(function()
        world:close()
    end)

    local function secret(name, data, type)
        local encoded = {}
        for key, value in pairs(data) do
            encoded[key] = kubelua.base64(value)
        end
        assert(world.sim:apply { apiVersion = "v1", kind = "Secret", type = type or "Opaque",
            metadata = { name = name, namespace = "web" }, data = encoded })
    end

    it("asks for a user, and lets those of the Secret in", function()
        secret("users", { auth = "ann:" .. APR1 .. "\nbob:" .. BCRYPT .. "\n" })
        local host = world:ingress("shop", { ["auth-type"] = "basic", ["auth-secret"] = "users",
            ["auth-realm"] = "Please log in" })
        local _, head = world:expect(401, host, "/")
        assert.truthy(head:find("WWW-Authenticate: Basic realm=\"Please log in\"", 1, true), head)
        for _, user in ipairs { "ann", "bob" } do
            for _ = 1, 2 do -- the second time from memory
                world:expect("web/one GET /x ", host, "/x", "-u " .. user .. ":secret")
            end
        end
        for _, wrong in ipairs { "-u ann:Secret", "-u ann:", "-u eve:secret", "-u :secret",
            "-H 'Authorization: Bearer secret'", "-H 'Authorization: Basic ann:secret'",
            "-H 'Authorization: Basic'", "-u ann:" .. ("secret"):rep(100) } do
            assert.equal(401, (world:ask(host, "/", wrong)), wrong)
        end
    end)

    it("keeps the password from the backend", function()
        world:expect("web/one GET /header ", "shop.example.com", "/header", "-u ann:secret")
        local body = world:expect("web/one GET / ", "shop.example.com", "/", "-u ann:secret "
            .. "-H 'X-Test: seen'")
        assert.truthy(body:find("x=seen", 1, true))
        assert.truthy(body:find("authorization=,", 1, true), body)
    end)

    it("knows another password at once, and no longer the one before", function()
        secret("users", { auth = "ann:{PLAIN}other\n" })
        world:expect("web/one GET / ", "shop.example.com", "/", "-u ann:other")
        assert.equal(401, (world:ask("shop.example.com", "/", "-u ann:secret")))
        assert.equal(401, (world:ask("shop.example.com", "/", "-u bob:secret")))
    end)

    it("reads users from the keys of a Secret", function()
        secret("map", { ann = APR1 .. "\n", auth = "x:{PLAIN}y" })
        local host = world:ingress("map", { ["auth-type"] = "basic", ["auth-secret"] = "web/map",
            ["auth-secret-type"] = "auth-map" })
        world:expect("web/one GET / ", host, "/", "-u ann:secret")
        assert.equal(401, (world:ask(host, "/", "-u x:y")))
    end)

    it("leaves no path unguarded without its Secret", function()
        local host = world:ingress("none", { ["auth-type"] = "basic", ["auth-secret"] = "none" })
        world:expect(503, host, "/", "-u ann:secret")
        secret("none", { other = "ann:" .. APR1 })
        local wait = "the Secret web/none has no key auth"
        eventually(function() return world.one:count(wait) > 0 end, wait, 10)
        assert.equal(503, (world:ask(host, "/", "-u ann:secret")))
        secret("none", { auth = "ann:" .. APR1 })
        world:expect("web/one GET / ", host, "/", "-u ann:secret")
        assert(world.sim:delete("secrets", "web/none"))
        world:expect(503, host, "/", "-u ann:secret")
        secret("none", { ["auth"] = "ann:" .. APR1, ["tls.crt"] = "x", ["tls.key"] = "y" },
            "kubernetes.io/tls")
        assert.equal(503, (world:ask(host, "/", "-u ann:secret")))
    end)

    it("takes a part of a worker's time at most for wrong passwords", function()
        secret("slow", { auth = "ann:" .. BCRYPT_12 })
        local host = world:ingress("slow", { ["auth-type"] = "basic", ["auth-secret"] = "slow" })
        world:expect(401, host, "/", "-u ann:wrong")
        local flood = {}
        for i = 1, 150 do
            flood[i] = ("-u ann:wrong%d -o /dev/null -H 'Host: %s' -w '%%{http_code}\n' "
                .. "http://127.0.0.1:%d/"):format(i, host, world.one.port)
        end
        local said = require("nginx_copies").shell("curl -s -m 20 -Z --parallel-max 150 "
            .. table.concat(flood, " --next -s "))
        local counts = {}
        for code in said:gmatch("%d%d%d") do
            counts[code] = (counts[code] or 0) + 1
        end
        local told = said:gsub("%s+", " ")
        assert.truthy((counts["503"] or 0) > 0, told)
        assert.truthy((counts["401"] or 0) > 0, told)
        assert.equal(150, counts["401"] + counts["503"], told)
        world:expect("web/one GET / ", "map.example.com", "/", "-u ann:secret")
    end)

    it("is the same for the next owner", function()
        world.one:signal("KILL", world:owner())
        world:owner()
        world:expect("web/one GET / ", "shop.example.com", "/", "-u ann:other")
        secret("users", { auth = "ann:{PLAIN}third\n" })
        world:expect("web/one GET / ", "shop.example.com", "/", "-u ann:third")
    end)
end)
