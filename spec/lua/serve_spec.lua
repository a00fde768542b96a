-- The server of kubelua run --serve: its pages, and that it answers while the loop hangs.
local core = require "kubelua.core"
local kubelua = require "kubelua"
local serve = require "kubelua.serve"
local Sim = require "kubelua.sim"
local tasks = require "kubelua.tasks"

-- Asks with a program of its own, so that the loop need not run. Without LD_PRELOAD: curl hangs
-- with the sanitizer that the interpreter is started with.
local function ask(server, path, options)
    local pipe = assert(io.popen(string.format(
        "LD_PRELOAD= curl -s -m 20 -w '\\n%%{http_code}' %s http://127.0.0.1:%d%s", options or "",
        server:port(), path)))
    local text = pipe:read("*a")
    pipe:close()
    local body, status = text:match("^(.*)\n(%d+)$")
    return tonumber(status), body
end

describe("the server of the report #processes", function()
    local cluster, client, server

    before_each(function()
        cluster = assert(Sim.new())
        client = assert(cluster:connect())
        server = assert(serve.start(core.report_pointer(), "127.0.0.1", "0"))
    end)

    after_each(function()
        server:stop()
        client:close()
        cluster:close()
    end)

    it("has the metrics in Prometheus' format, also for the loop's own requests", function()
        kubelua.metric.counter("spec_serve_total", "Orders."):inc(3)
        local reply = assert(kubelua.http("http://127.0.0.1:" .. server:port() .. "/metrics"))
        assert.equal("text/plain; version=0.0.4; charset=utf-8", reply.headers["content-type"])
        assert.truthy(reply.body:find("\nspec_serve_total 3\n", 1, true))
        assert.truthy(reply.body:find("\nprocess_open_fds ", 1, true))
    end)

    it("is not ready before the first list; a stopped informer is no reason", function()
        cluster:fail { verb = "list", resource = "configmaps", status = 503, count = 1000 }
        cluster:fail { verb = "watch", resource = "configmaps", status = 503, count = 1000 }
        local informer = assert(client:informer { "configmaps", namespace = "default" })
        local status, body = ask(server, "/readyz")
        assert.equal(503, status)
        assert.truthy(body:find("configmaps in default has no first list yet", 1, true), body)
        assert.same({ 200, "ok\n" }, { ask(server, "/healthz") })
        informer:stop()
        assert.same({ 200, "ok\n" }, { ask(server, "/readyz") })
    end)

    it("is not ready before the script has started", function()
        core.set_started(false)
        assert.same({ 503, "the script is still starting\n" }, { ask(server, "/readyz") })
        core.set_started(true)
        assert.same({ 200, "ok\n" }, { ask(server, "/readyz") })
    end)

    it("has the state as JSON", function()
        local informer = assert(client:informer { "configmaps", namespace = "default" })
        assert(informer:wait_synced(30))
        local status, body = ask(server, "/status")
        assert.equal(200, status)
        local state = assert(kubelua.decode(body))
        assert.equal("configmaps in default", state.informers[1].name)
    end)

    it("refuses other paths and methods", function()
        local status, body = ask(server, "/")
        assert.equal(404, status)
        assert.truthy(body:find("/metrics, /healthz, /readyz and /status", 1, true))
        assert.equal(405, (ask(server, "/metrics", "-X POST -d x")))
        assert.equal(200, (ask(server, "/healthz", "--head")))
    end)

    it("says which port is in use, and which address this machine lacks", function()
        local made, message, code = serve.start(core.report_pointer(), "127.0.0.1",
            tostring(server:port()))
        assert.is_nil(made)
        assert.equal("io", code)
        assert.truthy(message:find("another program has this port; choose another one", 1, true))
        made, message = serve.start(core.report_pointer(), "192.0.2.1", "0")
        assert.is_nil(made)
        assert.truthy(message:find("this machine does not have that address", 1, true))
    end)

    it("answers while the loop hangs: unhealthy within 10 s, with what blocks it", function()
        assert(tasks.poller:show())
        local seconds, body, status, ready, metrics
        local task = kubelua.spawn(function()
            local began = core.now()
            repeat
                status, body = ask(server, "/healthz")
                seconds = core.now() - began
            until status ~= 200 or seconds > 20
            ready = ask(server, "/readyz")
            metrics = select(2, ask(server, "/metrics"))
        end)
        task:wait(60)
        assert.equal(503, status)
        assert.truthy(seconds < 10, seconds)
        assert.truthy(body:find("^the loop has been blocked for %d+%.%d s"), body)
        assert.truthy(body:find("serve_spec.lua", 1, true), body)
        assert.equal(200, ready)
        assert.truthy(tonumber(metrics:match("\nkubelua_loop_blocked_seconds (%S+)\n")) >= 5)
        kubelua.step(0.01)
        assert.same({ 200, "ok\n" }, { ask(server, "/healthz") })
    end)
end)
