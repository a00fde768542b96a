-- Which events are written, and when: series, and the budget of an object.
local Ledger = require "kubelua.events.series"

describe("equal events", function()
    it("within 10 minutes are one series, and later a new one", function()
        local ledger = Ledger.new()
        local one, is_new = ledger:happened(0, "a", "o")
        assert.is_true(is_new)
        for now = 500, 2000, 500 do
            local same
            same, is_new = ledger:happened(now, "a", "o")
            assert.equal(one, same)
            assert.is_false(is_new)
        end
        assert.equal(5, one.count)
        local other
        other, is_new = ledger:happened(2600, "a", "o")
        assert.is_true(is_new)
        assert.not_equal(one, other)
        assert.equal(1, other.count)
    end)

    it("are written at once the second time, then less and less often", function()
        local ledger = Ledger.new()
        local one = ledger:happened(0, "a", "o")
        ledger:was_written(0, one, 1)
        assert.equal(0, one.next_at)
        local pauses = {}
        for i = 2, 9 do
            ledger:was_written(1000, one, i)
            pauses[#pauses + 1] = one.next_at - 1000
        end
        assert.same({ 10, 20, 40, 80, 160, 300, 300, 300 }, pauses)
    end)
end)

describe("an object", function()
    it("has 25 events at once, and then one in 5 minutes", function()
        local ledger = Ledger.new()
        local function count_new(now, from)
            local count = 0
            for i = from, from + 99 do
                count = count + (ledger:happened(now, "event " .. i, "o") and 1 or 0)
            end
            return count
        end
        assert.equal(25, count_new(0, 1))
        assert.is_nil(ledger:happened(299, "x", "o"))
        assert.is_truthy(ledger:happened(300, "x", "o"))
        assert.equal(2, count_new(900, 200))
        assert.equal(25, count_new(1e6, 400))
        assert.is_truthy(ledger:happened(1e6, "event 1", "another object"))
    end)

    it("does not use them up with equal events", function()
        local ledger = Ledger.new()
        for i = 1, 1000 do
            assert.is_truthy(ledger:happened(i / 10, "a", "o"))
        end
        for i = 1, 24 do
            assert.is_truthy(ledger:happened(100, "b" .. i, "o"))
        end
        assert.is_nil(ledger:happened(100, "c", "o"))
    end)
end)

describe("what is remembered", function()
    it("is bounded: the older half is forgotten first", function()
        local ledger = Ledger.new()
        for i = 1, 20000 do
            ledger:happened(i / 1000, "event " .. i, "object " .. i)
            assert.is_true(ledger.series_count <= 4096)
            assert.is_true(ledger.budget_count <= 4096)
        end
        local count = 0
        for _ in pairs(ledger.series) do
            count = count + 1
        end
        assert.equal(count, ledger.series_count)
        local _, is_new = ledger:happened(20, "event 20000", "object 20000")
        assert.is_false(is_new)
        _, is_new = ledger:happened(20, "event 1", "object 1")
        assert.is_true(is_new)
    end)

    it("forgets a series that cannot be written", function()
        local ledger = Ledger.new()
        ledger:forget(ledger:happened(0, "a", "o"))
        local _, is_new = ledger:happened(1, "a", "o")
        assert.is_true(is_new)
    end)
end)
