-- Keys that can be of no object of the kind, and objects of another kind, are mistakes that name
-- the right form. gone is never called for them: scripts delete things there.
local definition = require "definition"
local world = require "controller_world"

local w

before_each(function()
    w = world.new()
end)

after_each(function()
    w:close()
end)

local function gone(key)
    w:note("gone " .. key)
end

local HERE = "^spec/lua/controller_key_form_spec.lua:%d+: "

local function problem_of(f, ...)
    local ok, message = pcall(f, ...)
    assert.is_false(ok, "it is no misuse")
    assert.matches(HERE, message)
    return message
end

local FORM = "is no key of a ConfigMap: write \"namespace/name\""

describe("enqueue", function()
    it("refuses a key that no object of the kind can have", function()
        local controller = w:controller { gone = gone }
        for _, key in ipairs { "x", "a/b/c", "/x", "x/", "/" } do
            local message = problem_of(controller.enqueue, controller, key)
            assert.matches("enqueue: \"" .. key .. "\" " .. FORM, message, 1, true)
        end
        assert(controller:enqueue("web/x"))
        assert.same({ "gone web/x" }, w:noted())
    end)

    it("refuses a namespace for a kind that has none", function()
        local controller = w:controller { "nodes", gone = gone }
        assert.matches("enqueue: \"web/n\" is no key of a Node: write \"name\"",
            problem_of(controller.enqueue, controller, "web/n"))
        assert(controller:enqueue("n"))
        assert.same({ "gone n" }, w:noted())
    end)

    it("refuses an object of another kind, or of another group", function()
        local controller = w:controller { gone = gone }
        local secret = assert(w.cluster:apply(w.secret("s", { namespace = "web" })))
        assert.matches("enqueue: Secret web/s is not a ConfigMap", problem_of(controller.enqueue,
            controller, secret))
        assert(w.cluster:apply(definition("secrets.example.com")))
        local other = assert(w.cluster:apply { apiVersion = "example.com/v1", kind = "Secret",
            metadata = { name = "x", namespace = "web" } })
        local secrets = w:controller { "secrets", name = "secrets" }
        assert.matches("Secret web/x is not a Secret", problem_of(secrets.enqueue, secrets, other))
        assert(controller:enqueue(assert(w.cluster:apply(w.configmap("a")))))
        w:until_noted("web/a")
    end)

    it("judges what came before the kind was known when it is", function()
        local controller = w:controller { "foos.example.com", gone = gone }
        local secret = assert(w.cluster:apply(w.secret("s", { namespace = "web" })))
        assert(controller:enqueue("x"))
        assert(controller:enqueue(secret))
        assert(controller:enqueue("web/x"))
        assert(w.cluster:apply(definition("foos.example.com")))
        w:until_noted("gone web/x")
        w:logged("error controller spec: " .. HERE:sub(2) .. "enqueue: \"x\" is no key "
            .. "of a Foo: write \"namespace/name\"")
        w:logged("error controller spec: " .. HERE:sub(2) .. "enqueue: Secret web/s is not a Foo")
        w:rest(controller)
        assert.same({}, w.runs)
    end)

    it("takes any text for a controller without a resource", function()
        w:controller { keyless = true, name = "keys" }:enqueue("a/b/c")
        assert.same({ "a/b/c" }, w:noted())
    end)
end)

describe("map", function()
    -- What the log says of a map that returns this; `web/good` is also returned, and reconciled.
    local function refusal(value)
        w:apply("good")
        w:controller { gone = gone, watches = { { "secrets", map = function()
            return type(value) == "function" and value() or value
        end } } }
        assert.same({ "web/good" }, w:noted())
        assert(w.cluster:apply(w.secret("s", { namespace = "web" })))
        local line = w:logged("error controller spec: the event of Secret web/s failed")
        return line
    end

    it("that returns a key that no object can have is a mistake", function()
        assert.matches("map returned \"x\", which " .. FORM, refusal("x"), 1, true)
        assert.same({}, w.runs)
    end)

    it("that returns an object of another kind is one", function()
        assert.matches("map returned Secret web/s, which is not a ConfigMap", refusal(function()
            return w.cluster:get("secrets", "web/s")
        end), 1, true)
    end)

    it("that returns a table of another kind is one", function()
        assert.matches("map returned Secret web/s, which is not a ConfigMap",
            refusal { kind = "Secret", metadata = { name = "s", namespace = "web" } }, 1, true)
    end)

    it("still reconciles the keys that are right, of the same list and of the former state",
        function()
            assert.matches("\"a/b/c\"", refusal { "a/b/c", "web/good", "web/other" }, 1, true)
            local runs = w:noted(2)
            table.sort(runs)
            assert.same({ "gone web/other", "web/good" }, runs)
        end)

    it("that maps the former state well, and the new one not, reconciles the former", function()
        w:apply("good")
        w:controller { gone = gone, watches = { { "secrets", map = function(secret)
            return secret:get("metadata.annotations.of")
        end } } }
        assert.same({ "web/good" }, w:noted())
        assert(w.cluster:apply(w.secret("s", { namespace = "web",
            annotations = { of = "web/good" } })))
        assert.same({ "web/good" }, w:noted())
        assert(w.cluster:patch("secrets", "web/s", { metadata = { annotations = { of = "x" } } }))
        assert.same({ "web/good" }, w:noted())
        w:logged("the event of Secret web/s failed, and is tried again: map returned \"x\"")
    end)
end)

describe("run:get", function()
    it("refuses a key that no object of the source can have", function()
        w:apply("a")
        local messages = w:in_run("a", function(_, run)
            local function ask(...)
                return problem_of(run.get, run, ...)
            end
            assert.equal("web/a", run:get("configmaps", "web/a").key)
            assert.equal("web/a", run:get("configmaps", "web", "a").key)
            assert.is_nil(run:get("configmaps", "web/none"))
            assert.is_nil(run:get("nodes", "none"))
            return { ask("configmaps", "x"), ask("configmaps", "a/b/c"),
                ask("configmaps", "a/b", "c"), ask("configmaps", "", "x"), ask("nodes", "web/n"),
                ask("nodes", "web", "n") }
        end, { reads = { "nodes" } })
        assert.matches("run:get: \"x\" " .. FORM, messages[1], 1, true)
        for i = 2, 4 do
            assert.matches(FORM, messages[i], 1, true)
        end
        assert.matches("run:get: \"web/n\" is no key of a Node: write \"name\"", messages[5])
        assert.matches("is no key of a Node: write \"name\"", messages[6])
    end)
end)

describe("a resource and a key, as a target of a write,", function()
    it("are refused if the key can be of no object", function()
        w:apply("a")
        w:in_run("a", function(_, run)
            for _, key in ipairs { "a/b/c", "", "/x" } do
                assert.matches("run:delete: .*\"namespace/name\"",
                    problem_of(run.delete, run, "configmaps", key))
            end
        end)
    end)
end)
