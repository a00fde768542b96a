-- Wrong options and calls of a controller raise an error with the script's line and the remedy.
local kubelua = require "kubelua"
local world = require "controller_world"

local w

setup(function()
    w = world.new()
end)

teardown(function()
    w:close()
end)

local function problem(given)
    if type(given) == "table" and given.client == nil then
        given.client = w.client
    end
    local ok, message = pcall(kubelua.controller, given)
    assert.is_false(ok, "it is no misuse")
    assert.matches("^spec/lua/controller_misuse_spec.lua:%d+: ", message)
    return message
end

local function f() end

describe("misuse of kubelua.controller", function()
    it("is a missing table, or a missing reconcile", function()
        assert.matches("a table expected", problem(nil))
        assert.matches("a table expected", problem("pods"))
        assert.matches("'reconcile' is missing", problem { "pods" })
        assert.matches("'reconcile' is missing", problem { "pods", reconcile = _G.reconcle })
        assert.matches("'reconcile' must be a function", problem { "pods", reconcile = "f" })
    end)

    it("is a mistyped option, of the controller or of a source", function()
        assert.matches("no option 'worker'; do you mean 'workers'",
            problem { "pods", reconcile = f, worker = 5 })
        assert.matches("controller: watches: there is no option 'mpa'; do you mean 'map'",
            problem { "pods", reconcile = f, watches = { { "secrets", mpa = f } } })
        assert.matches("controller: owns: there is no option 'map'",
            problem { "pods", reconcile = f, owns = { { "secrets", map = f } } })
        assert.matches("controller: reads: there is no option 'when'",
            problem { "pods", reconcile = f, reads = { { "secrets", when = f } } })
        assert.matches("only one resource is possible here, and 'secrets'",
            problem { "pods", "secrets", reconcile = f })
    end)

    it("is a wrong list of sources", function()
        assert.matches("owns: a list of sources expected, such as { { \"pods\", labels",
            problem { "pods", reconcile = f, owns = { "secrets", labels = "a=b" } })
        assert.matches("owns: which resource", problem { "pods", reconcile = f, owns = { {} } })
        assert.matches("owns: a resource or a table of options expected, not a number",
            problem { "pods", reconcile = f, owns = { 5 } })
        assert.matches("watches: 'secrets' needs map",
            problem { "pods", reconcile = f, watches = { "secrets" } })
        assert.matches("the resource must be a text", problem { 5, reconcile = f })
    end)

    it("is two sources of one name", function()
        assert.matches("two sources are called 'secrets'; give one of them another name",
            problem { "pods", reconcile = f, owns = { "secrets" }, reads = { "secrets" } })
        assert.matches("two sources are called 'pods'",
            problem { "pods", reconcile = f, reads = { { "secrets", as = "pods" } } })
    end)

    it("is a number that makes no sense", function()
        for _, wrong in ipairs { { "workers", 0 }, { "workers", 1.5 }, { "delay", -1 },
            { "timeout", 0 }, { "resync", -5 }, { "delay", 0 / 0 } } do
            assert.matches("'" .. wrong[1] .. "' must be", problem { "pods", reconcile = f,
                [wrong[1]] = wrong[2] })
        end
    end)

    it("is a namespace that cannot be one", function()
        assert.matches("cannot be a namespace",
            problem { "pods", reconcile = f, namespace = "a,b" })
        assert.matches("cannot be a namespace",
            problem { "pods", reconcile = f, reads = { { "secrets", namespace = "a,b" } } })
    end)

    it("is an option that needs a resource, without a resource", function()
        assert.matches("needs a name", problem { reconcile = f })
        for name, value in pairs { gone = f, owns = { "pods" }, when = f, terminating = true } do
            assert.matches("'" .. name .. "' needs a resource",
                problem { name = "keys", reconcile = f, [name] = value })
        end
    end)
end)

describe("misuse of a controller", function()
    local controller

    setup(function()
        controller = w:controller { reconcile = f }
    end)

    it("is a wrong key", function()
        local function enqueue(...)
            return select(2, pcall(controller.enqueue, controller, ...))
        end
        assert.matches("a key expected.*not a number", enqueue(7))
        assert.matches("a key expected.*not a nil", enqueue())
        assert.matches("an empty text or one with a NUL byte", enqueue(""))
        assert.matches("an empty text or one with a NUL byte", enqueue("a\0b"))
        assert.matches("a number of seconds, not soon", enqueue("web/a", "soon"))
        local message = enqueue("web/a", 0 / 0)
        assert.matches("a number of seconds, not nan", (message:gsub("%-nan", "nan")))
    end)

    it("is a method that is called with a dot", function()
        for _, name in ipairs { "stop", "has_synced", "status", "enqueue" } do
            assert.has_error(function() controller[name]() end)
            assert.has_error(function() controller[name](w.client) end)
        end
    end)

    it("cannot reach the state of the controller", function()
        assert.equal("kubelua.controller spec", tostring(controller))
        assert.is_nil(next(controller))
    end)
end)
