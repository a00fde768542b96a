-- From events to keys: owners and map; and events for which map raises.
local eventually = require "eventually"
local kubelua = require "kubelua"
local world = require "controller_world"

local w

before_each(function()
    w = world.new()
end)

after_each(function()
    w:close()
end)

-- A Secret, which other objects may own.
local function secret(name, owner, more)
    local reference = owner and { apiVersion = owner.apiVersion, kind = owner.kind,
        name = owner.name, uid = owner.uid, controller = true }
    for field, value in pairs(more or {}) do
        reference[field] = value
    end
    return { apiVersion = "v1", kind = "Secret",
        metadata = { name = name, namespace = "web",
            ownerReferences = reference and { reference } },
        stringData = { at = tostring(math.random()) } }
end

-- What is noted once the controller is at rest.
local function noted_at_rest(controller)
    w:rest(controller)
    local runs = w.runs
    w.runs = {}
    table.sort(runs)
    return runs
end

describe("owns", function()
    local a, controller

    before_each(function()
        a = w:apply("a")
        w:apply("b")
    end)

    local function start(options)
        options = options or { "secrets" }
        controller = w:controller { owns = { options } }
        w:noted(2)
        w:rest(controller)
    end

    it("reconciles the owner when an object it controls is added, changed and deleted", function()
        start()
        assert(w.cluster:apply(secret("child", a)))
        assert.same({ "web/a" }, w:noted())
        assert(w.cluster:apply(secret("child", a)))
        assert.same({ "web/a" }, w:noted())
        assert(w.cluster:delete("secrets", "web/child"))
        assert.same({ "web/a" }, w:noted())
    end)

    it("reconciles the old owner and the new one", function()
        start()
        assert(w.cluster:apply(secret("child", a)))
        w:noted()
        local b = assert(w.cluster:get("configmaps", "web/b"))
        assert(w.cluster:apply(secret("child", b)))
        local both = w:noted(2)
        table.sort(both)
        assert.same({ "web/a", "web/b" }, both)
    end)

    it("leaves out references with another group, kind or UID", function()
        start()
        assert(w.cluster:apply(secret("uid", a, { uid = "another" })))
        assert(w.cluster:apply(secret("kind", a, { kind = "Secret" })))
        assert(w.cluster:apply(secret("group", a, { apiVersion = "example.com/v1" })))
        assert(w.cluster:apply(secret("right", a)))
        assert.same({ "web/a" }, w:noted())
        assert.same({}, noted_at_rest(controller))
    end)

    it("follows the controller's reference only, unless controller = false", function()
        start()
        assert(w.cluster:apply(secret("child", a, { controller = false })))
        assert(w.cluster:apply(secret("right", a)))
        assert.same({ "web/a" }, w:noted())
        controller:stop()
        start { "secrets", controller = false }
        assert(w.cluster:apply(secret("child", a, { controller = false })))
        assert.same({ "web/a" }, w:noted())
    end)

    it("does not end the backoff of the owner", function()
        local fails = true
        controller = w:controller { owns = { "secrets" }, reconcile = function(object)
            w:note(object.key)
            if fails then
                return nil, "not yet"
            end
        end }
        w:noted(2)
        for _ = 1, 8 do -- so long that no backoff ends by itself
            w.cluster:advance(60)
        end
        w.runs = {}
        fails = false
        assert(w.cluster:apply(secret("child", a)))
        w:rest(controller)
        assert.same({}, w.runs)
        w:apply("a", "2")
        assert.same({ "web/a" }, w:noted())
    end)
end)

describe("map", function()
    local map, controller

    local function start(options)
        options = options or {}
        options.watches = { { "secrets", map = function(...) return map(...) end } }
        controller = w:controller(options)
    end

    it("gives keys: none, one, an object, or a list of them", function()
        local returned
        map = function() return returned end
        start { keyless = true, name = "keys" }
        w:rest(controller)
        local a = w:apply("a")
        for _, case in ipairs { { nil, {} }, { "any text", { "any text" } }, { a, { "web/a" } },
            { {}, {} }, { { "x", a, { metadata = { name = "n" } } }, { "n", "web/a", "x" } },
            { { metadata = { namespace = "ns", name = "n" } }, { "ns/n" } } } do
            returned = case[1]
            assert(w.cluster:apply(secret("s")))
            assert(w.cluster:settle()) -- the event has been mapped
            local keys = w:noted(#case[2])
            table.sort(keys)
            assert.same(case[2], keys)
        end
    end)

    it("is called for the old and for the new object", function()
        map = function(object) return object:get("metadata.labels.of") end
        start { keyless = true, name = "keys" }
        local object = secret("s")
        object.metadata.labels = { of = "one" }
        assert(w.cluster:apply(object))
        assert.same({ "one" }, w:noted())
        object.metadata.labels = { of = "two" }
        assert(w.cluster:apply(object))
        local both = w:noted(2)
        table.sort(both)
        assert.same({ "one", "two" }, both)
        assert(w.cluster:delete("secrets", "web/s"))
        assert.same({ "two" }, w:noted())
    end)

    it("that raises is called again for the event, and delays no other event", function()
        local refuses = true
        map = function(object)
            if refuses and object.name == "poison" then
                error("no idea")
            end
            return object.name
        end
        start { keyless = true, name = "keys" }
        assert(w.cluster:apply(secret("poison")))
        assert(w.cluster:apply(secret("fine")))
        assert.same({ "fine" }, w:noted())
        local line = w:logged("controller keys: the event of Secret web/poison failed, and "
            .. "is tried again: .*no idea")
        assert.matches("stack traceback", line)
        w.cluster:advance(1)
        assert.same({}, w.runs)
        refuses = false
        w.cluster:advance(10)
        assert.same({ "poison" }, w:noted())
    end)

    it("that raised gets the oldest state too when the event is tried again", function()
        local calls, refuses = 0, true
        map = function(object)
            calls = calls + 1
            if refuses then
                error("no idea")
            end
            return object.metadata.labels.of
        end
        start { keyless = true, name = "keys" }
        local object = secret("s")
        for i, of in ipairs { "one", "two", "three" } do
            object.metadata.labels = { of = of }
            assert(w.cluster:apply(object))
            eventually(function() return calls >= i end, "the event is told")
        end
        refuses = false
        w.cluster:advance(10)
        local keys = w:noted(2)
        table.sort(keys)
        assert.same({ "one", "three" }, keys)
    end)

    it("that waits raises an error that says so", function()
        map = function() kubelua.sleep(1) end
        start { keyless = true, name = "keys" }
        assert(w.cluster:apply(secret("s")))
        w:logged("kubelua.sleep inside map of controller keys, which must not wait")
    end)

    it("that returns a wrong value raises an error that says so", function()
        local returned
        map = function() return returned end
        start { keyless = true, name = "keys" }
        for what, value in pairs { ["a number"] = 7, ["a boolean"] = true,
            ["a key that is empty"] = "", ["a table that is not a list"] = { key = "a" },
            ["a key .* NUL"] = "a\0b" } do
            returned = value
            local object = secret("s" .. #w.lines)
            assert(w.cluster:apply(object))
            w:logged("map returned " .. what)
        end
    end)

    it("may read caches", function()
        w:apply("a")
        map = function(_, run) return run:list("configmaps") end
        start()
        assert.same({ "web/a" }, w:noted())
        assert(w.cluster:apply(secret("s")))
        assert.same({ "web/a" }, w:noted())
    end)
end)
