-- The text of index values, in either Lua: numbers, and strings with a NUL byte.
local definition = require "definition"
local Sim = require "kubelua.sim"

describe("an index", function()
    local sim, client, foos

    before_each(function()
        sim = assert(Sim.new())
        assert(sim:apply(definition("foos.x.io", { scope = "Cluster" })))
        client = assert(sim:connect())
        foos = assert(client:informer { "foos.x.io", indexes = {
            path = "spec.value",
            compute = function(foo) return foo.spec.value end,
        } })
    end)
    after_each(function()
        client:close()
        sim:close()
    end)

    -- An object in the cache, which the index function has seen.
    local function apply(value)
        local name = "f" .. #foos:list()
        assert(sim:apply('{"apiVersion":"x.io/v1","kind":"Foo","metadata":{"name":"' .. name
            .. '"},"spec":{"value":' .. value .. "}}"))
        assert(sim:eventually(function() return foos:get(name) end))
        local foo = foos:get(name)
        sim:eventually(function() return #foos:by("compute", foo.spec.value) == 1 end)
        return foo
    end

    it("finds an object by a number", function()
        assert(foos:wait_synced(10))
        for _, value in ipairs { "3", "2.0", "0.5", "0.3333333333333333", "2.5e-7", "1e16", "1e22",
            "1000000000000000", "9007199254740993", "18446744073709551615" } do
            local foo = apply(value)
            assert.same({ foo }, foos:by("path", foo.spec.value), value)
            assert.same({ foo }, foos:by("compute", foo.spec.value), value)
        end
        assert.same(foos:values("path"), foos:values("compute"))
        assert.equal(1, #foos:by("path", 2))
        assert.equal(1, #foos:by("compute", 6 / 2))
        assert.same({}, foos:by("path", 1 / 0))
    end)

    it("does not cut a value at a NUL byte", function()
        assert(foos:wait_synced(10))
        local foo = apply('"a"')
        local other = apply([["a\u0000b"]])
        assert.same({ foo }, foos:by("path", "a"))
        assert.same({}, foos:by("path", "a\0b"))
        assert.same({ other }, foos:by("compute", "a\0b"))
        assert.is_nil(foos:get("f0\0"))
        assert.error_matches(function() foos:list { labels = "!x\0,y" } end, "NUL byte")
        assert.error_matches(function() foos:by("path\0", "a") end, "NUL byte")
    end)
end)
