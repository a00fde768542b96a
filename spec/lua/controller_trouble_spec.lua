-- Controllers in trouble: runs that do not end, kinds that vanish: no key gets stuck or lost. One
-- that can never work says so at once, at the line of the script; the run then ends with a
-- failure.
local world = require "controller_world"
local definition = require "definition"
local eventually = require "eventually"
local kubelua = require "kubelua"
local idle = require "kubelua.controller.idle"
local simcore = require "kubelua.simcore"
local process_of = require("processes").output_of

local ROLES = [[
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: readers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: dev}]
]]

local w

before_each(function()
    w = world.new()
end)

after_each(function()
    w:close()
end)

describe("a run that is cancelled, and catches that for ever,", function()
    it("is abandoned, and its key runs again", function()
        local stubborn = true
        w:apply("a")
        local controller = w:controller { timeout = 5, reconcile = function()
            w:note("began")
            while stubborn do
                pcall(kubelua.sleep, 1)
            end
        end }
        w:noted()
        w.cluster:advance(5)
        w:logged("it is stopped here for good")
        stubborn = false
        eventually(function()
            return controller:status().queue.in_progress == 0
        end, "the key is not in progress")
        w.cluster:advance(1)
        assert.same({ "began" }, w:noted())
    end)
end)

describe("a controller whose client is closed", function()
    it("has stopped, and logs nothing", function()
        w:apply("a")
        local client = assert(w.cluster:connect())
        local controller = w:controller { client = client, reconcile = function()
            w:note("began")
            kubelua.sleep(100)
        end }
        w:noted()
        client:close()
        eventually(function() return controller:status().state == "stopped" end, "it stops")
        assert.equal(0, w:count_logged("error"))
        assert.equal(0, w:count_logged("attempt"))
    end)
end)

local FOO = { apiVersion = "example.com/v1", kind = "Foo",
    metadata = { name = "a", namespace = "web" } }

-- The CustomResourceDefinition of Foos; `served` says for each version if it is served.
local function definition_of(served)
    local versions = {}
    for i, name in ipairs { "v1", "v2" } do
        versions[i] = { name = name, served = served[name] or false, storage = name == "v1" }
    end
    return definition("foos.example.com", { versions = versions })
end

describe("the version that the server prefers when a controller starts", function()
    it("is kept until it ends", function()
        w:apply("other")
        assert(w.cluster:apply(definition_of { v1 = true }))
        assert(w.cluster:apply(FOO))
        local controller = w:controller { "foos", reconcile = function(object)
            w:note(object.apiVersion)
        end }
        assert.same({ "example.com/v1" }, w:noted())
        assert(w.cluster:apply(definition_of { v2 = true }))
        w.cluster:cut()
        eventually(function()
            local code = controller:status().sources[1].code
            return code and code ~= "unavailable"
        end, "it is missed")
        assert.same({}, w.runs)
        assert(w.cluster:apply(definition_of { v1 = true, v2 = true }))
        assert(w.cluster:patch("foos", "web/a", { metadata = { labels = { a = "b" } } }))
        assert.equal("example.com/v1", w:noted()[1])
        for _, request in ipairs(w.cluster:requests()) do
            assert.is_nil(request.target:find("example.com/v2/namespaces", 1, true))
        end
    end)
end)

describe("a kind that vanishes", function()
    it("is reported by status(), and its objects are reconciled when it is served again", function()
        local foos = definition_of { v1 = true }
        w:apply("other")
        assert(w.cluster:apply(foos))
        assert(w.cluster:apply(FOO))
        local controller = w:controller { "foos.example.com",
            gone = function(key) w:note("gone " .. key) end }
        assert.same({ "web/a" }, w:noted())
        assert(w.cluster:delete("customresourcedefinitions", "foos.example.com"))
        assert.same({ "gone web/a" }, w:noted())
        eventually(function() return controller:status().sources[1].error end, "it is missed")
        assert(w.cluster:apply(foos))
        assert(w.cluster:apply(FOO))
        assert.same({ "web/a" }, w:noted())
    end)
end)

describe("a right that is missing", function()
    it("is named by status(), and the controller waits for that right", function()
        w:close()
        w = world.new { rbac = true,
            users = { { name = "jane", token = "t", groups = { "dev" } } } }
        assert(w.cluster:load(ROLES))
        w:apply("a")
        local controller = w:controller { client = assert(w.cluster:connect { user = "jane" }),
            reads = { "secrets" } }
        eventually(function()
            return controller:status().sources[1].has_synced
                and controller:status().sources[2].error
        end, "the right is missed")
        local source = controller:status().sources[2]
        assert.equal("forbidden", source.code)
        assert.matches("secrets", source.error)
        assert.matches("list", source.error)
        assert.equal("starting", controller:status().state)
        assert.same({}, w.runs)
    end)
end)

describe("several controllers of one script", function()
    it("each have a queue of their own", function()
        w:apply("a")
        local fails = w:controller { name = "fails", reconcile = function()
            return nil, "no"
        end }
        w:controller { name = "works" }
        w:noted()
        w:apply("a", "2")
        assert.same({ "web/a" }, w:noted())
        assert.equal("web/a", fails:status().failures[1].key)
    end)
end)

describe("the work that a controller has left", function()
    it("is known to the simulated cluster, for cluster:settle", function()
        w:apply("a")
        local holds = true
        w:controller { reconcile = function()
            w:note("began")
            while holds do
                kubelua.sleep(1)
            end
            return 10
        end }
        local state = next(simcore.state(w.cluster).controllers)
        assert.matches("controller spec: ", idle.left(state))
        w:noted()
        assert.equal("controller spec: web/a is being reconciled", idle.left(state))
        holds = false
        w.cluster:advance(1)
        assert.is_nil(idle.left(state))
    end)
end)

local function f() end

local function refusal(given)
    given.client, given.reconcile = w.client, f
    local ok, message = pcall(kubelua.controller, given)
    assert.is_false(ok, "it is no misuse")
    assert.matches("^spec/lua/controller_trouble_spec.lua:%d+: controller: ", message)
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
