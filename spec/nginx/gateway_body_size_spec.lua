-- proxy-body-size: bodies whose length is said before, and those whose length nobody knows yet.
local copies = require "nginx_copies"
local eventually = require "eventually"
local gateway_world = require "gateway_world"
local nginx = require "nginx"
local slices = require "slices"

-- A backend that says how many bytes it got.
local BACKEND = [[
        client_max_body_size 0;
        location / { content_by_lua_block {
            ngx.req.read_body()
            local body, path = ngx.req.get_body_data(), ngx.req.get_body_file()
            local file = path and io.open(path, "rb")
            ngx.say("got ", file and file:seek("end") or #(body or ""))
        } }
]]

describe("a body", function()
    local world, backend, folder

    setup(function()
        folder = copies.shell("mktemp -d")
        copies.certificate(folder, "a")
        backend = nginx.start { workers = 1, server = BACKEND }
        world = gateway_world.start { http2 = true, options = "nginx = true" }
        assert(world.sim:load(slices.service("web", "sizes")))
        assert(world.sim:load(slices.slice("web", "sizes", "sizes-1", { "127.0.0.1" },
            backend.port)))
        world:secret("web", "good", folder)
    end)

    teardown(function()
        world:close()
        backend:close()
        copies.shell("rm -r " .. folder)
    end)

    -- An Ingress with a limit, for both protocols.
    local function ingress(name, size, more)
        local annotations = { ["proxy-body-size"] = size, ["ssl-redirect"] = "false" }
        for key, value in pairs(more or {}) do
            annotations[key] = value
        end
        local host = world:ingress(name, annotations, nil, "sizes")
        assert(world.sim:patch("ingresses", "web/" .. name, { spec = { tls = {
            { hosts = { host }, secretName = "good" } } } }))
        world:expect("got 0", host, "/")
        return host
    end

    -- Sends so many bytes as curl does from a pipe, so without a length; or with it.
    local function send(host, bytes, protocol, words)
        local port = protocol == "--http2" and world.tls_port or world.one.port
        return copies.shell(("head -c %d /dev/zero | curl -sk -m 10 %s %s --resolve "
            .. "%s:%d:127.0.0.1 %s://%s:%d/ -w '%%{http_code} %%{http_version}'"):format(bytes,
            protocol, words or "-T -", host, port, protocol == "--http2" and "https" or "http",
            host, port))
    end

    local PROTOCOLS = { ["--http1.1"] = "1.1", ["--http2"] = "2" }

    for protocol, version in pairs(PROTOCOLS) do
        it("has to be within proxy-body-size: " .. protocol, function()
            local host = ingress("small" .. version:sub(1, 1), "5k")
            assert.equal("got 5120\n200 " .. version, send(host, 5120, protocol))
            assert.matches("413 " .. version .. "$", send(host, 5121, protocol))
            assert.matches("413 " .. version .. "$", send(host, 5121, protocol,
                "--data-binary @-"))
        end)

        it("over the limit is not read to its end: " .. protocol, function()
            local host = ingress("end" .. version:sub(1, 1), "3m")
            assert.equal("got 3145728\n200 " .. version, send(host, 3145728, protocol))
            -- nginx stops at 4 MiB; what has come by then is a little more
            local said = copies.shell(("head -c 300000000 /dev/zero | curl -sk -m 10 %s -T - "
                .. "--resolve %s:%d:127.0.0.1 https://%s:%d/ -o /dev/null "
                .. "-w '%%{http_code} %%{size_upload}'"):format(protocol, host, world.tls_port,
                host, world.tls_port))
            local status, sent = said:match("^(%d+) (%d+)")
            assert.equal("413", status, said)
            assert.is_true(tonumber(sent) < 50e6, said)
        end)

        it("without a limit goes to the backend: " .. protocol, function()
            local host = ingress("none" .. version:sub(1, 1), "0")
            assert.equal("got 9000000\n200 " .. version, send(host, 9000000, protocol))
        end)
    end

    it("within the limit reaches a backend of another location", function()
        local host = ingress("moved", "1m", { ["rewrite-target"] = "/new" })
        for protocol, version in pairs(PROTOCOLS) do
            assert.equal("got 70000\n200 " .. version, send(host, 70000, protocol))
        end
    end)

    it("that stops is not waited for by other requests", function()
        local host = ingress("stops", "1m")
        local pid = copies.shell(("bash -c 'exec 3<>/dev/tcp/127.0.0.1/%d; printf \"POST / HTTP/1.1"
            .. "\\r\\nHost: %s\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n5\\r\\nab\" >&3; "
            .. "exec cat <&3' >/dev/null 2>&1 & echo $!"):format(world.one.port, host)):match("%d+")
        assert.equal("got 10\n200 1.1", send(host, 10, "--http1.1"))
        copies.shell("kill " .. pid)
        eventually(function()
            return world:ask(host, "/") == 200
        end, "the gateway goes on")
    end)
end)
