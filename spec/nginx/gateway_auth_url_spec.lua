-- Auth services before the paths of an Ingress, in a real nginx.
local gateway_world = require "gateway_world"
local nginx = require "nginx"
local slices = require "slices"

-- Servers that mean harm: by their path.
local HOSTILE = [[
    location / { return 200 "up\n"; }
    location ~ .. { content_by_lua_block {
        local socket = assert(ngx.req.socket(true))
        local path = ngx.var.uri
        if path == "/endless" then
            socket:send("HTTP/1.1 200 OK\r\n")
            repeat until not socket:send(("X-A: b\r\n"):rep(1000))
        elseif path == "/garbage" then
            socket:send("SSH-2.0-x\r\n\r\n")
        elseif path == "/folded" then
            socket:send("HTTP/1.1 200 OK\r\nX-Test: a\r\n b\r\n\r\n")
        elseif path == "/early" then
            socket:send("HTTP/1.1 100 Continue\r\n\r\n"
                .. "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        elseif path == "/more" then -- an answer to a request that was not made
            socket:send("HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n")
        end
    } }
]]

describe("an auth service", function()
    local world, hostile, host

    setup(function()
        hostile = nginx.start { workers = 1, server = HOSTILE }
        world = gateway_world.start { options = "nginx = true, auth_verify = true" }
        host = world:ingress("shop", { ["auth-url"] = "http://two.web.svc.cluster.local/auth?a=1",
            ["auth-response-headers"] = "X-Test, X-None" })
        world:expect(401, host, "/")
    end)

    teardown(function()
        world:close()
        hostile:close()
    end)

    it("lets requests pass, and says headers for the backend", function()
        local body, head = world:expect("web/one GET /x?y=1 ", host, "/x?y=1", "-b user=ann")
        assert.truthy(body:find("x=GET /auth?a=1 http://shop.example.com/x?y=1 GET length= "
            .. "ip=127.0.0.1 host=two.web.svc.cluster.local ", 1, true), body)
        assert.truthy(head:find("Set-Cookie: auth=ann", 1, true), head)
    end)

    it("gets no body, and nothing that the client says in the gateway's name", function()
        local body = world:expect("web/one POST / ", host, "/", "-b user=ann -d 'a=1' -H "
            .. "'X-Original-URL: http://other/' -H 'X-Forwarded-For: 10.0.0.1' -H 'X-Test: mine'")
        assert.truthy(body:find("x=GET /auth?a=1 http://shop.example.com/ POST length= "
            .. "ip=127.0.0.1 ", 1, true), body)
        body = world:expect("web/one GET / ", host, "/", "-b user=ann -H 'X-Forwarded-Port: 1' "
            .. "-H 'X-Original-User: eve' -H 'Proxy: http://evil/'")
        assert.truthy(body:find("cluster.local said= ", 1, true), body)
        body = world:expect("web/one POST / ", host, "/", "-b user=ann -H 'Transfer-Encoding: "
            .. "chunked' -d 'a=1'")
        assert.truthy(body:find(" POST length= ", 1, true), body)
    end)

    it("refuses: its 401 and 403 are the answer, all else is 500", function()
        local _, head = world:expect(401, host, "/", "-b user=bob")
        assert.truthy(head:find("WWW-Authenticate: Bearer realm=auth", 1, true), head)
        assert.equal(403, (world:ask(host, "/", "-b user=eve")))
        assert.equal(500, (world:ask(host, "/", "-b user=lost")))
        assert.equal(500, (world:ask(host, "/", "-b user=broken")))
    end)

    it("takes headers of its names away from clients", function()
        local other = world:ingress("none", { ["auth-url"] = "http://127.0.0.2:"
            .. world.backends.backend_port .. "/auth", ["auth-response-headers"] = "X-None" })
        local body = world:expect("web/one GET / ", other, "/", "-b user=ann -H 'X-Test: mine'")
        assert.truthy(body:find("x=mine ", 1, true), body)
        local same = world:ingress("same", { ["auth-url"] = "http://127.0.0.1:" .. hostile.port
            .. "/early", ["auth-response-headers"] = "X-Test" })
        body = world:expect("web/one GET / ", same, "/", "-H 'X-Test: mine'")
        assert.truthy(body:find("x= ", 1, true), body)
    end)

    it("sends browsers to the page to log in", function()
        local other = world:ingress("page", { ["auth-url"] = "http://two.web.svc/auth",
            ["auth-signin"] = "https://sso.example.com/start" })
        local _, head = world:expect(302, other, "/x?y=%20", "-b user=bob")
        assert.truthy(head:find("Location: https://sso.example.com/start?rd=http://"
            .. "page.example.com%2Fx%3Fy%3D%2520", 1, true), head)
        assert.truthy(head:find("Set-Cookie: auth=bob", 1, true), head)
        assert.equal(403, (world:ask(other, "/", "-b user=eve")))
    end)

    it("that is not there, or sends rubbish, lets nothing pass", function()
        local urls = { dead = "http://127.0.0.1:1/", svc = "http://none.web.svc/", name =
            "http://auth.example.org/", tls = ("https://127.0.0.2:%d/auth"):format(
            world.backends.tls_port) }
        for _, path in ipairs { "endless", "garbage", "folded", "close" } do
            urls[path] = ("http://127.0.0.1:%d/%s"):format(hostile.port, path)
        end
        for name, url in pairs(urls) do
            local other = world:ingress("bad-" .. name, { ["auth-url"] = url })
            world:expect(500, other, "/", "-b user=ann")
        end
        assert.truthy(world.one:count("the Service web/none:80: unknown") > 0)
        assert.truthy(world.one:count("no resolver defined to resolve") > 0)
        assert.truthy(world.one:count("the head of the answer is too long") > 0)
    end)

    it("is asked by TLS; the certificate of a Service is not checked", function()
        assert(world.sim:load(slices.service("web", "secure")))
        assert(world.sim:load(slices.slice("web", "secure", "secure-1", { "127.0.0.2" },
            world.backends.tls_port)))
        local other = world:ingress("tls", { ["auth-url"] = "https://secure.web.svc:80/auth",
            ["auth-response-headers"] = "X-Test" })
        for _ = 1, 3 do -- also on a kept connection
            local body = world:expect("web/one GET / ", other, "/", "-b user=ann")
            assert.truthy(body:find("host=secure.web.svc:80 ", 1, true), body)
        end
    end)

    it("is one thing, the name in the handshake with the backend another", function()
        local other = world:ingress("name", { ["backend-protocol"] = "HTTPS",
            ["proxy-ssl-name"] = "inner.example.com" }, nil, "secure")
        local body = world:expect("web/two GET / ", other, "/")
        assert.truthy(body:find("sni=inner.example.com ", 1, true), body)
    end)

    it("answers one request with one answer", function()
        local other = world:ingress("more", { ["auth-url"] = ("http://127.0.0.1:%d/more"):format(
            hostile.port) })
        for _ = 1, 5 do
            world:expect(401, other, "/")
        end
    end)

    it("is not chosen by a client", function()
        assert(world.sim:apply { apiVersion = "networking.k8s.io/v1", kind = "Ingress",
            metadata = { name = "any", namespace = "web", annotations = {
                ["nginx.ingress.kubernetes.io/auth-url"] = "http://$host/" } },
            spec = { ingressClassName = "nginx", defaultBackend = { service = { name = "one",
                port = { number = 80 } } } } })
        world:expect(503, "127.0.0.2", "/")
        assert.truthy(world.one:count("auth-url: $host needs a rule with a host") > 0)
    end)

    it("or another guard lets a request pass with satisfy: any", function()
        local other = world:ingress("any-of", { ["auth-url"] = "http://two.web.svc/auth",
            satisfy = "any", ["whitelist-source-range"] = "127.0.0.9" })
        world:expect("web/one GET / ", other, "/", "-b user=ann")
        world:expect("web/one GET / ", other, "/", "--interface 127.0.0.9")
        assert.equal(401, (world:ask(other, "/")))
        assert.equal(403, (world:ask(other, "/", "-b user=eve")))
    end)
end)
