-- core.digest: equal for values with the same JSON, and only for these.
local core = require "kubelua.core"
local kubelua = require "kubelua"

-- A value inside of `depth` tables.
local function nest(value, depth)
    for _ = 1, depth do
        value = { value }
    end
    return value
end

describe("core.digest", function()
    it("does not depend on the order in which members were set", function()
        local a, b = {}, {}
        for i = 1, 40 do
            a["name" .. i], b["name" .. 41 - i] = i, 41 - i
        end
        assert.equal(core.digest(a), core.digest(b))
        b.name7 = 8
        assert.not_equal(core.digest(a), core.digest(b))
    end)

    it("is another one for any other value", function()
        local values = { 0, 1, -1, 0.5, 2 ^ 53, 1e300, true, false, "", "0", "1", "true", "a", "b",
            ("x"):rep(16), ("x"):rep(17), ("x"):rep(32), "x\0", "x\0\0", kubelua.null, {},
            kubelua.array(), { 1 }, { 1, 1 }, { 1, 2 }, { 2, 1 }, { "1" }, { { 1 } }, { a = 1 },
            { a = "1" }, { b = 1 }, { a = 1, b = 1 }, { a = {} }, { a = kubelua.array() },
            { a = { b = 1 } }, { a = { b = 2 } }, { a = { c = 1 } }, { a = { b = 1 }, c = {} },
            core.decode("18446744073709551615"), core.decode("18446744073709551614") }
        local seen = {}
        for i, value in ipairs(values) do
            local digest = core.digest(value)
            assert.is_nil(seen[digest], i .. " and " .. tostring(seen[digest]))
            seen[digest] = i
        end
    end)

    it("is that of all its arguments, in their order", function()
        local both = core.digest({ a = 1 }, "b")
        assert.equal(both, core.digest({ a = 1 }, "b"))
        assert.not_equal(both, core.digest("b", { a = 1 }))
        assert.not_equal(both, core.digest({ a = 1 }))
        assert.not_equal(core.digest("a", true), core.digest("a", false))
        assert.not_equal(core.digest("a", nil), core.digest("a", kubelua.null))
    end)

    it("is that of the JSON: 1.0 is 1, and a part of an object is its value", function()
        assert.equal(core.digest { a = 1 }, core.digest { a = 1.0 })
        local one = core.object('{"metadata":{"name":"a"},"spec":{"a":[1,"x"],"b":null}}')
        local same = core.object('{"metadata":{"name":"b"},"spec":{"b":null,"a":[1,"x"]}}')
        local other = core.object('{"metadata":{"name":"b"},"spec":{"b":null,"a":[1,"y"]}}')
        assert.equal(core.digest { of = one.spec }, core.digest { of = same.spec })
        assert.not_equal(core.digest { of = one.spec }, core.digest { of = other.spec })
    end)

    it("is nil for what it cannot judge, and leaves no trace of that", function()
        for _, value in ipairs { nest(1, 1000), { 1, a = 2 }, { [3] = 1 }, { 0 / 0 }, { 1 / 0 },
            { print }, { a = { b = { function() end } } }, { [true] = 1 }, { core.poller(0) },
            setmetatable({}, { __kubelua_text = function() return "1" end }) } do
            assert.is_nil(core.digest(value))
        end
        local loop = {}
        loop[1] = loop
        assert.is_nil(core.digest(loop))
        assert.equal(16, #core.digest(nest(1, 30)))
    end)
end)
