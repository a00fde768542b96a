-- From events to keys: owners and map, events for which map raises, and which updates matter to a
-- controller (when, kubelua.changed).
local world = require "controller_world"
local eventually = require "eventually"
local kubelua = require "kubelua"
local core = require "kubelua.core"

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

describe("when", function()
    it("is called for updates, and for no other events", function()
        local asked = 0
        w:apply("a")
        w:controller { when = function(old, new)
            asked = asked + 1
            assert.equal(old.name, new.name)
            return new.data.value == "wanted"
        end }
        w:noted()
        assert.equal(0, asked)
        w:apply("b")
        assert.same({ "web/b" }, w:noted())
        w:apply("a", "not wanted")
        w:apply("a", "wanted")
        assert.same({ "web/a" }, w:noted())
        assert.equal(2, asked)
    end)

    it("does not hide the beginning of a deletion", function()
        w:apply("a", "1", { finalizers = { "example.com/a" } })
        w:controller { terminating = true, when = function() return false end }
        w:noted()
        assert(w.cluster:delete("configmaps", "web/a"))
        assert.same({ "web/a" }, w:noted())
    end)

    it("that raises is called again for the event", function()
        local refuses = true
        w:apply("a")
        w:controller { when = function()
            assert(not refuses, "no idea")
            return true
        end }
        w:noted()
        w:apply("a", "2")
        w:logged("the event of ConfigMap web/a failed.*no idea")
        refuses = false
        w.cluster:advance(1)
        assert.same({ "web/a" }, w:noted())
    end)
end)

describe("kubelua.changed", function()
    local METADATA = '"metadata":{"name":"a","generation":1,'

    local function object(text)
        return assert(core.object('{"kind":"Foo","apiVersion":"v1",' .. text .. "}"))
    end

    it("is true of an update that changes one of the fields", function()
        local old = object(METADATA .. '"labels":{"a":"b","c":"d"}},"spec":{"n":1}')
        local moved = object(METADATA .. '"labels":{"c":"d","a":"b"}},"spec":{"n":2}')
        local labelled = object(METADATA .. '"labels":{"a":"x"}},"spec":{"n":1}')
        local changed = kubelua.changed("generation", "labels")
        assert.is_false(changed(old, old))
        assert.is_false(changed(old, moved))
        assert.is_true(changed(old, labelled))
        assert.is_true(kubelua.changed("spec.n")(old, moved))
        assert.is_true(kubelua.changed("spec")(old, moved))
        assert.is_false(kubelua.changed("spec.absent", "status")(old, moved))
    end)

    it("passes every update of kinds without a generation", function()
        local old = object '"metadata":{"name":"a"}'
        assert.is_true(kubelua.changed("generation")(old, old))
    end)

    it("refuses a wrong field, with the script's line", function()
        local function problem(...)
            return select(2, pcall(kubelua.changed, ...))
        end
        assert.matches("do you mean 'generation'%?", problem("generatoin"))
        assert.matches("controller_sources_spec.lua", problem("generatoin"))
        assert.matches("which fields", problem())
        assert.matches("not a number", problem(5))
        assert.has_error(function() kubelua.changed("spec[") end)
    end)
end)
