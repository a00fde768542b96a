-- Controllers without a resource: their keys are any strings.
local kubelua = require "kubelua"
local world = require "controller_world"

local w

before_each(function()
    w = world.new()
end)

after_each(function()
    w:close()
end)

describe("a controller without a resource", function()
    it("reconciles any string that enqueue is given", function()
        local controller = w:controller { keyless = true, name = "zones",
            reconcile = function(key, run)
                assert.equal(key, run.key)
                run.memo.count = (run.memo.count or 0) + 1
                w:note(key .. run.memo.count)
            end }
        for _, key in ipairs { "a zone", "/", "ns/name" } do
            assert(controller:enqueue(key))
            assert.same({ key .. "1" }, w:noted())
            assert(controller:enqueue(key))
            assert.same({ key .. "2" }, w:noted())
        end
    end)

    it("has one timer for each key; enqueue can set it", function()
        local controller = w:controller { keyless = true, name = "zones" }
        controller:enqueue("a", 10)
        controller:enqueue("a", 5)
        controller:enqueue("b", 7)
        kubelua.step(0.01)
        w.cluster:advance(4.999)
        assert.same({}, w.runs)
        w.cluster:advance(0.001)
        assert.same({ "a" }, w:noted())
        w.cluster:advance(5)
        assert.same({ "b" }, w:noted())
        controller:enqueue("a", 0)
        assert.same({ "a" }, w:noted())
    end)
end)
