-- Comparisons with a cache: label selectors, and resourceVersions in the order of the core.
local core = require "kubelua.core"

local shop = assert(core.object('{"kind":"Pod","apiVersion":"v1","metadata":{"name":"shop",'
    .. '"labels":{"app":"shop"}}}'))
local bare = assert(core.object('{"kind":"Pod","apiVersion":"v1","metadata":{"name":"bare"}}'))

describe("comparisons with a cache", function()
    it("tell if a label selector selects an object", function()
        assert.is_true(core.matches(shop, "app in (shop, web),!tier"))
        assert.is_false(core.matches(shop, "app!=shop"))
        assert.is_false(core.matches(bare, "app"))
        assert.is_true(core.matches(bare, ""))
        local matched, message, code = core.matches(bare, "app in (")
        assert.is_nil(matched)
        assert.is_string(message)
        assert.equal("invalid_argument", code)
    end)

    it("look at labels in the text, and in the tree if there is one", function()
        local object = assert(core.object('{"metadata":{"name":"a","labels":{"a":"\\u0062"}}}'))
        collectgarbage()
        collectgarbage()
        local before = core.live().documents
        assert.is_true(core.matches(object, "a=b"))
        assert.equal(before, core.live().documents)
        assert.truthy(core.encode(object))
        assert.equal(before + 1, core.live().documents)
        assert.is_true(core.matches(object, "a=b,!c"))
        assert.is_true(core.matches(core.object('{"metadata":{"name":"a","labels":null}}'), "!a"))
    end)

    it("order versions as numbers of any length, and no other texts", function()
        assert.is_true(core.compare_versions("9", "10") < 0)
        assert.is_true(core.compare_versions("10000000000000000000001", "9") > 0)
        assert.equal(0, core.compare_versions("7", "7"))
        assert.equal(0, core.compare_versions("a-1", "a-1"))
        assert.is_nil(core.compare_versions("a-1", "a-2"))
    end)
end)
