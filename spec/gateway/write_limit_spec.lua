-- How often the status of one object may be written (write_limit.lua).
local write_limit = require "resty.kubelua.gateway.write_limit"

describe("the limit of writes", function()
    local limit

    before_each(function()
        limit = write_limit.new()
    end)

    it("lets twenty pass at once, then one a second", function()
        for _ = 1, 20 do
            assert.equal(0, limit:spend("a", 1, 100))
        end
        assert.same({ 1, true }, { limit:spend("a", 1, 100) })
        assert.equal(0, limit:spend("a", 1, 102))
        assert.same({ 1, false }, { limit:spend("a", 1, 102) })
    end)

    it("counts each object, and each generation, by itself", function()
        for _ = 1, 25 do
            limit:spend("a", 1, 100)
        end
        assert.equal(0, limit:spend("b", 1, 100))
        assert.equal(0, limit:spend("a", 2, 100))
    end)

    it("forgets objects that are not written any more", function()
        for i = 1, 5000 do
            limit:spend("a" .. i, 1, 100 + i)
        end
        local count = 0
        for _ in pairs(limit.known) do
            count = count + 1
        end
        assert.is_true(count <= 1100, count)
        for _ = 1, 25 do
            limit:spend("b", 1, 10000)
        end
        assert.equal(6, limit:spend("b", 1, 10000))
    end)
end)
