-- What waits to be written: no namespace delays another.
local fair_queue = require "resty.kubelua.gateway.fair_queue"

local function take_all(queue)
    local list = {}
    while not queue:is_empty() do
        list[#list + 1] = (queue:take())
    end
    return list
end

describe("a fair queue", function()
    it("gives each namespace its turn, however many one has", function()
        local queue = fair_queue.new(1000)
        for i = 1, 500 do
            queue:add("many", "k" .. i, "many-" .. i)
        end
        queue:add("one", "k", "one-1")
        queue:add("two", "k", "two-1")
        queue:add("two", "l", "two-2")
        local list = take_all(queue)
        assert.same({ "many-1", "one-1", "two-1", "many-2", "two-2", "many-3" },
            { list[1], list[2], list[3], list[4], list[5], list[6] })
        assert.equal(503, #list)
        assert.equal("many-500", list[503])
        assert.is_nil(queue:take())
    end)

    it("keeps the last of several with one key, at the place of the first", function()
        local queue = fair_queue.new(1000)
        for i = 1, 1000 do
            queue:add("a", "flips", i)
            queue:add("a", "other", "other")
        end
        assert.same({ 1000, "other" }, take_all(queue))
        queue:add("a", "flips", "again")
        assert.same({ "again" }, take_all(queue))
    end)

    it("has room for so many of a namespace, and says how many it dropped", function()
        local queue = fair_queue.new(2)
        for i = 1, 5 do
            queue:add("a", "k" .. i, i)
        end
        queue:add("b", "k", "b")
        local item, dropped = queue:take()
        assert.same({ 1, 3 }, { item, dropped })
        assert.same({ "b" }, { queue:take() })
        assert.same({ 2 }, { queue:take() })
        assert.is_true(queue:is_empty())
    end)
end)
