-- run.memo: what a controller keeps about a key between its runs.
local core = require "kubelua.core"
local world = require "controller_world"

local w

before_each(function()
    w = world.new()
end)

after_each(function()
    w:close()
end)

describe("a key", function()
    it("has a memo for the life of its object", function()
        w:controller { reconcile = function(_, run)
            run.memo.count = (run.memo.count or 0) + 1
            w:note(run.memo.count)
        end }
        w:apply("a")
        assert.same({ 1 }, w:noted())
        w:apply("a", "2")
        assert.same({ 2 }, w:noted())
        w:apply("b")
        assert.same({ 1 }, w:noted())
    end)

    it("costs no memory between runs if the script uses no memo", function()
        local wants_memo = false
        w:controller { reconcile = function(object, run)
            w:note(object.name .. (wants_memo and tostring(run.memo == run.memo) or ""))
        end }
        local state = next(core.state(w.client, "kubelua.client").controllers)
        w:apply("a")
        w:noted()
        assert.same({}, state.memos)
        wants_memo = true
        w:apply("a", "2")
        assert.same({ "atrue" }, w:noted())
        assert.same({ "web/a" }, { (next(state.memos)) })
    end)

    it("has no memo from a run of an earlier term as the leader", function()
        local state, goes_on = nil, true
        w:controller { reconcile = function(_, run)
            if goes_on then
                state:begin_term() -- the lease was lost, and gained again
            end
            goes_on = false
            w:note(run.memo.count or 0)
            run.memo.count = 1
        end }
        state = next(core.state(w.client, "kubelua.client").controllers)
        local noted = {}
        for value = 1, 3 do
            w:apply("a", tostring(value))
            noted[value] = w:noted()[1]
        end
        assert.same({ 0, 0, 1 }, noted)
    end)
end)
