-- What a hand-over must not lose, besides the objects that are there: deleted ones, and keys
-- without an object.
local ring_world = require "ring_world"

local w, start, until_true, until_shared

before_each(function()
    w, start, until_true, until_shared = ring_world.open()
end)

after_each(function()
    ring_world.close(w)
end)

describe("a controller with shards", function()
    for _, by in ipairs { "key", "uid" } do
        it("calls gone again, by = " .. by .. ", until it succeeds", function()
            local failed, done = {}, {}
            local function options()
                return { shards = { by = by }, gone = function(key)
                    if not failed[key] then
                        failed[key] = true
                        error("it does not work yet", 0)
                    end
                    done[key] = true
                end }
            end
            for i = 1, 20 do
                w:apply("key-" .. i)
            end
            until_shared(start("one", options()), start("two", options()))
            for i = 1, 20 do
                assert(w.cluster:delete("configmaps", "web/key-" .. i))
            end
            until_true(function()
                local count_done = 0
                for _ in pairs(done) do
                    count_done = count_done + 1
                end
                return count_done == 20
            end, "gone has succeeded for each key")
        end)
    end

    it("calls gone for what another member could not handle any more", function()
        local calls = {}
        for i = 1, 20 do
            w:apply("key-" .. i)
        end
        local one = start("one", { gone = function() error("it never works", 0) end })
        local two = start("two", { gone = function(key) calls[key] = true end })
        until_shared(one, two)
        for i = 1, 20 do
            assert(w.cluster:delete("configmaps", "web/key-" .. i))
        end
        until_true(function() return #one:status().failures > 4 end, "one has failed")
        one:stop()
        until_true(function()
            for i = 1, 20 do
                if not calls["web/key-" .. i] then
                    return false
                end
            end
            return true
        end, "two has called gone for each key")
    end)

    it("hands over a key of enqueue with a time, without a resource", function()
        local one, two
        local function options()
            return { keyless = true }
        end
        one, two = start("one", options()), start("two", options())
        until_shared(one, two)
        for i = 1, 10 do
            assert(one:enqueue("tick-" .. i, 1))
            assert(two:enqueue("tick-" .. i, 1))
        end
        until_true(function() return #w.runs == 10 end, "each has run")
        w.runs = {}
        one:stop()
        until_shared(two)
        local owners = ring_world.owners_of(w:noted(3))
        assert.equal(0, ring_world.count(owners, "one"))
    end)
end)
