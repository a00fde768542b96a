-- Which updates matter to a controller: when, and kubelua.changed.
local core = require "kubelua.core"
local kubelua = require "kubelua"
local world = require "controller_world"

local w

before_each(function()
    w = world.new()
end)

after_each(function()
    w:close()
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
        assert.matches("controller_when_spec.lua", problem("generatoin"))
        assert.matches("which fields", problem())
        assert.matches("not a number", problem(5))
        assert.has_error(function() kubelua.changed("spec[") end)
    end)
end)
