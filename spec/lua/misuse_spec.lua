-- Misuse raises an error that says what was expected; what cannot work returns nil, message, code.
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"

local sim, client

setup(function()
    sim = assert(Sim.new())
    client = assert(sim:connect())
end)

teardown(function()
    client:close()
    sim:close()
end)

describe("connect", function()
    it("names the existing options", function()
        assert.error_matches(function() kubelua.connect { sever = "x" } end,
            "there is no option 'sever'; do you mean 'server'?", 1, true)
        assert.error_matches(function() kubelua.connect { token = 5 } end, "must be a string")
        assert.has_error(function() kubelua.connect("x") end)
        assert.error_matches(function() kubelua.connect { "staging" } end,
            "connect takes options by name, such as { ca_data = ... }", 1, true)
    end)

    it("takes a cluster, or says that the value is none", function()
        for _, none in ipairs { true, "sim", { load = "cluster.yaml" } } do
            assert.error_matches(function() kubelua.connect { sim = none } end,
                "connect: 'sim' must be a cluster, such as require", 1, true)
        end
    end)

    it("tells which kubeconfig it cannot read", function()
        local none, message, code = kubelua.connect { kubeconfig = "/nonexistent/config" }
        assert.is_nil(none)
        assert.matches("/nonexistent/config", message, 1, true)
        assert.equal("config", code)
    end)
end)

describe("connect to a simulated cluster", function()
    it("takes the namespace that it is given", function()
        local there = assert(sim:connect { namespace = "web" })
        assert.equal("web", there:namespace())
        assert.equal("default", client:namespace())
        there:close()
    end)
end)

describe("a write to a simulated cluster", function()
    it("that is too large fails with the code for that", function()
        local none, message, code = sim:create { apiVersion = "v1", kind = "ConfigMap",
            metadata = { name = "large" }, data = { text = ("x"):rep(4e6) } }
        assert.is_nil(none)
        assert.matches("Request entity too large", message, 1, true)
        assert.equal("too_large", code)
    end)
end)

describe("informer", function()
    it("needs a resource, and known options", function()
        assert.has_error(function() client:informer {} end)
        assert.has_error(function() client:informer() end)
        assert.error_matches(function() client:informer { "pods", label = "x" } end,
            "no option 'label'; do you mean 'labels'? there are compress, ", 1, true)
        assert.error_matches(function() client:informer { "pods", "nodes" } end,
            "only one resource is possible, and 'nodes' is another one")
        assert.error_matches(function() client:informer("pods", { namespace = "web" }) end,
            "informer: one table expected", 1, true)
    end)

    it("takes an idle timeout below 0, which is never", function()
        local pods = assert(client:informer { "pods", idle_timeout = -1 })
        assert(pods:wait_synced(10))
        pods:stop()
        assert.has_error(function() client:informer { "pods", idle_timeout = 0 / 0 } end)
        assert.has_error(function() client:informer { "pods", idle_timeout = "-1" } end)
    end)

    it("refuses selectors that do not parse, at once", function()
        local none, message, code = client:informer { "pods", labels = "a in b" }
        assert.is_nil(none)
        assert.equal("string", type(message))
        assert.equal("invalid_argument", code)
    end)

    it("refuses switches that are neither true nor false", function()
        assert.error_matches(function()
            client:informer { "pods", streaming_list = "no" }
        end, "'streaming_list' must be true or false")
        local pods = assert(client:informer { "pods", streaming_list = false })
        assert.error_matches(function() pods:on { coalesce = "false" } end,
            "'coalesce' must be true or false")
        pods:stop()
    end)

    it("refuses callbacks that are not functions", function()
        local pods = assert(client:informer { "pods" })
        assert.error_matches(function() pods:on { added = print } end,
            "there is no option 'added'; do you mean 'add'?", 1, true)
        assert.error_matches(function() pods:on { add = 1 } end, "'add' must be a function")
        assert.error_matches(function() pods:on { coalesce = "no" } end, "must be true or false")
        assert.has_error(function() pods:on() end)
        assert.has_error(function() pods:index("x", 5) end)
        pods:stop()
    end)

    it("has no registration whose options were refused", function()
        local sources = require "kubelua.sources"
        local pods = assert(client:informer { "pods" })
        assert.is_false(sources.keep_going())
        assert.error_matches(function()
            pods:on { add = print, name = 5 }
        end, "'name' must be a string")
        assert.error_matches(function() pods:on { add = print, resync = -1 } end, "resync must be")
        assert.is_false(sources.keep_going())
        pods:stop()
    end)

    it("raises for arguments that are not strings", function()
        local pods = assert(client:informer { "pods" })
        assert.error_matches(function() pods:get(nil) end, "get: the key must be")
        assert.error_matches(function() pods:get("web", nil) end, "get: the name must be")
        assert.error_matches(function() pods:get(nil, "a") end, "get: the namespace must be")
        assert.error_matches(function() pods:by() end, "by: the index's name must be")
        assert.error_matches(function() pods:values(1) end, "values: the index's name")
        pods:stop()
    end)

    it("names the existing indexes, by path and by function", function()
        local pods = assert(client:informer { "pods", indexes = {
            node = "spec.nodeName", owner = function() end, app = function() end } })
        for _, ask in ipairs { "by", "values" } do
            assert.error_matches(function() pods[ask](pods, "nod", "a") end,
                "there are node; indexes by function: app, owner", 1, true)
        end
        pods:stop()
    end)

    it("refuses a registration without a callback, such as a mistyped function", function()
        local pods = assert(client:informer { "pods" })
        local message = "on: no callback; give one of add, update, delete, synced, error"
        for _, given in ipairs { {}, { add = rawget(_G, "pirnt") }, { resync = 5 } } do
            assert.error_matches(function() pods:on(given) end, message, 1, true)
        end
        assert.is_false(require("kubelua.sources").keep_going())
        pods:stop()
    end)

    it("refuses names that cannot be namespaces", function()
        local pods = assert(client:informer { "pods", namespace = "*" })
        for _, name in ipairs { "default,web", "../x", "", "Web", "-a", "a.b", ("a"):rep(64) } do
            local message = "'" .. name .. "' cannot be a namespace"
            assert.error_matches(function()
                client:informer { "pods", namespace = name }
            end, message, 1, true)
            assert.error_matches(function() pods:list { namespace = name } end, message, 1, true)
            assert.error_matches(function()
                kubelua.connect { server = "http://127.0.0.1:1", namespace = name }
            end, message, 1, true)
        end
        assert.is_table(pods:list { namespace = ("a"):rep(63) })
        assert.is_table(pods:list { namespace = "*" })
        pods:stop()
    end)

    it("answers after stop with a code", function()
        local pods = assert(client:informer { "pods" })
        local handler = assert(pods:on { add = print })
        pods:stop()
        pods:stop()
        handler:remove()
        local none, _, code = pods:get("a/b")
        assert.is_nil(none)
        assert.equal("closed", code)
        none, _, code = pods:on { add = print }
        assert.is_nil(none)
        assert.equal("closed", code)
        assert.equal(0, pods:count())
        assert.equal("", pods:resource_version())
        assert.is_false(pods:has_synced())
        none, _, code = pods:wait_synced(1)
        assert.is_nil(none)
        assert.equal("closed", code)
    end)
end)

describe("log", function()
    it("refuses unknown levels", function()
        assert.error_matches(function() kubelua.log("loud", "x") end, "loud")
    end)

    it("writes the text after a NUL byte too", function()
        local core = require "kubelua.core"
        local original, got = core.log, nil
        core.log = function(_, message) got = message end
        kubelua.log("info", "a\0b")
        core.log = original
        assert.equal("a\\0b", got)
    end)
end)
