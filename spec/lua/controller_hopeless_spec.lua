-- A controller that can never work says so at once, at the line of the script; the run then ends
-- with a failure.
local definition = require "definition"
local eventually = require "eventually"
local kubelua = require "kubelua"
local process_of = require("processes").output_of
local world = require "controller_world"

local w

before_each(function()
    w = world.new()
end)

after_each(function()
    w:close()
end)

local function f() end

local function refusal(given)
    given.client, given.reconcile = w.client, f
    local ok, message = pcall(kubelua.controller, given)
    assert.is_false(ok, "it is no misuse")
    assert.matches("^spec/lua/controller_hopeless_spec.lua:%d+: controller: ", message)
    return message
end

describe("a wrong option of a controller", function()
    it("raises, of a resource of its own and of the sources", function()
        assert.matches("configmaps: label selector, character 8: .*app in shop",
            refusal { "configmaps", labels = "app in shop" })
        assert.matches("configmaps: .*\"nodeName\"",
            refusal { "configmaps", fields = "x=1,nodeName" })
        assert.matches("configmaps: drop: metadata.uid cannot be dropped",
            refusal { "configmaps", drop = "metadata.uid" })
        assert.matches("owns: secrets: label selector",
            refusal { "configmaps", owns = { { "secrets", labels = "app in shop" } } })
        assert.matches("nodes %(Node%) have no namespace: leave `namespace` out",
            refusal { "nodes", namespace = "web" })
    end)

    it("raises before the kind of a custom resource is known", function()
        assert.matches("foos.example.com: label selector",
            refusal { "foos.example.com", labels = "app in shop" })
        assert.matches("reads: foos.example.com: keep:",
            refusal { "configmaps", reads = { { "foos.example.com", keep = "spec[1]" } } })
        assert.matches("label selector",
            refusal { "foos.example.com", labels = "app in shop", namespace = { "a", "b" } })
    end)
end)

describe("a controller that turns out never to work", function()
    local function expect_end(options, pattern)
        options.reconcile = f
        local controller = w:controller(options)
        w:logged("error spec/support/controller_world.lua:%d+: controller spec can never work: "
            .. pattern)
        eventually(function() return controller:status().state == "stopped" end, "it has stopped")
        assert.equal("invalid_argument", controller:status().sources[1].code)
    end

    it("stops, if a namespace is named and the kind has none", function()
        w.cluster:create(definition("foos.example.com", { scope = "Cluster" }))
        expect_end({ "foos.example.com", namespace = "web" },
            "foos.example.com: foos %(Foo%) have no namespace")
        expect_end({ "foos.example.com", namespace = { "web", "db" } },
            "foos.example.com: foos %(Foo%) have no namespace")
    end)

    it("stops, if an index of a custom resource needs what is dropped", function()
        w.cluster:create(definition("foos.example.com"))
        expect_end({ "foos.example.com", drop = "spec", indexes = { a = "spec.a" } },
            "foos.example.com: index 'a'")
    end)
end)

-- How a process ends whose controller has no configuration; what follows the controller is `text`.
local function run_without_configuration(text)
    return process_of([[
        local kubelua = require "kubelua"
        local function f() end
        local made, message, code = kubelua.controller { "pods", reconcile = f }
        assert(made == nil and message:find("no configuration") and code, message)
    ]] .. text, "HOME=/nonexistent KUBECONFIG=")
end

describe("a controller without a configuration #processes", function()
    it("is logged at once, at the line of the script", function()
        local said = run_without_configuration("")
        assert.matches("error [^ ]*:4: controller pods can never work: no configuration: ", said)
        assert.matches("status 0\n$", said)
    end)

    it("ends kubelua.run with an error, instead of letting it wait for ever", function()
        local said = run_without_configuration("kubelua.run()")
        assert.matches("kubelua.run: nothing is left to run: controller pods can never work: "
            .. "no configuration", said)
        assert.matches("status 1\n$", said)
    end)

    it("lets kubelua.run go on while something else is left", function()
        local said = run_without_configuration(
            "kubelua.every(0.01, function() print('on') kubelua.stop() end) kubelua.run()")
        assert.matches("on\n", said)
        assert.matches("status 0\n$", said)
    end)
end)
