-- Long work of the owner's scripts, a slice in each round.
local core = require "kubelua.core"
local kubelua = require "kubelua"
local pace = require "resty.kubelua.pace"

-- Works until the slice of this round is used up.
local function use_slice()
    local till = core.now() + 0.003
    while core.now() < till do end
end

local function round()
    pace.begin()
    kubelua.step(0)
end

describe("the pace of long work", function()
    after_each(function()
        pace.begin()
    end)

    it("lets a task go on in the next round once the slice is used up", function()
        local steps = 0
        kubelua.spawn(function()
            for _ = 1, 3 do
                use_slice()
                steps = steps + 1
                pace.go()
            end
        end)
        for i = 1, 3 do
            round()
            assert.equal(i, steps)
            assert.is_true(pace.has_more)
        end
        round()
        assert.is_false(pace.has_more)
    end)

    it("gives each task a piece in every round, whatever the others use", function()
        local pieces = { 0, 0, 0 }
        for i = 1, 3 do
            kubelua.spawn(function()
                for _ = 1, 4 do
                    use_slice()
                    pieces[i] = pieces[i] + 1
                    pace.go()
                end
            end)
        end
        for i = 1, 4 do
            round()
            assert.same({ i, i, i }, pieces)
        end
        round()
    end)

    it("collects garbage in slices, and the work stands meanwhile", function()
        local kept, done = {}, false
        for i = 1, 3e5 do
            kept[i] = { i }
        end
        collectgarbage()
        local before = collectgarbage("count")
        kubelua.spawn(function()
            for i = 1, 3e5 do
                kept[i] = { i }
                pace.go()
            end
            done = true
        end)
        local most = 0
        for _ = 1, 1e5 do
            round()
            most = math.max(most, collectgarbage("count"))
            if done then
                break
            end
        end
        assert.is_true(done and #kept == 3e5)
        assert.truthy(most < 2 * before, most / before)
    end)
end)
