-- Keys that come to a member are queued in slices: the loop goes on meanwhile.
local core = require "kubelua.core"
local kubelua = require "kubelua"
local ring_world = require "ring_world"
local tasks = require "kubelua.tasks"

local count, owners_of = ring_world.count, ring_world.owners_of
local w, start, until_true, until_shared

before_each(function()
    w, start, until_true, until_shared = ring_world.open()
end)

after_each(function()
    ring_world.close(w)
end)

describe("keys that come to a member", function()
    for _, by in ipairs { "key", "uid", "namespace" } do
        it("are found by the core, by = " .. by, function()
            for i = 1, 40 do
                assert(w.cluster:apply { apiVersion = "v1", kind = "ConfigMap", metadata = {
                    namespace = "space-" .. i % 10, name = "key-" .. i } })
            end
            local informer = assert(w.client:informer { "configmaps" })
            assert(informer:wait_synced(30))
            local found, all = {}, 0
            for part = 1, 256 do
                for _, key in ipairs(core.shard_keys(informer, by, { [part] = true })) do
                    found[key], all = part, all + 1
                end
            end
            assert.equal(40, all)
            for _, object in ipairs(informer:list()) do
                assert.equal(by == "uid" and core.shard_part_of_uid(object.uid)
                    or core.shard_part(by == "key" and object.key or object.namespace),
                    found[object.key])
            end
            assert.same({}, core.shard_keys(informer, by, {}))
            informer:stop()
            assert.is_nil(core.shard_keys(informer, by, { true }))
        end)
    end

    it("find an empty memo, and keys that stay keep theirs", function()
        local seen = {}
        for i = 1, 40 do
            w:apply("key-" .. i)
        end
        local one = start("one", { reconcile = function(object, run)
            run.memo.count = (run.memo.count or 0) + 1
            seen[object.key] = run.memo.count
        end })
        until_shared(one)
        w:noted(40)
        local two = start("two")
        until_shared(one, two)
        until_true(function() return two:has_synced() end, "two has run its share")
        local moved = owners_of(w.runs)
        assert.is_true(count(moved, "two") > 5)
        two:stop()
        w.runs = {}
        until_shared(one)
        until_true(function() return #w.runs >= count(moved, "two") end, "they are back")
        for key in pairs(moved) do
            assert.equal(1, seen[key], key)
        end
        w.runs = {}
        for i = 1, 40 do
            w:apply("key-" .. i, "2")
        end
        w:noted(40)
        for i = 1, 40 do
            assert.equal(2, seen["web/key-" .. i])
        end
    end)

    -- The clock moves on only for the task that queues the keys: each key takes it longer than a
    -- slice. So no limit of time passes because of it.
    it("leave the loop its turns", function()
        local KEYS, turn, late, is_over, now = 200, 0, 0, false, core.now
        for i = 1, KEYS do
            w:apply("key-" .. i)
        end
        local one = start("one")
        until_shared(one)
        w:noted(KEYS)
        local two = start("two")
        until_shared(one, two)
        until_true(function() return two:has_synced() end, "two has run its share")
        local moved = count(owners_of(w.runs), "two")
        w.runs = {}

        local turns_of_queueing = {}
        core.now = function() -- luacheck: ignore 122
            local task = tasks.task_here()
            if task and task.what:find(": keys that come$") then
                late = late + 0.006
                turns_of_queueing[turn] = true
            end
            return now() + late
        end
        finally(function() core.now = now end) -- luacheck: ignore 122
        kubelua.spawn(function()
            while not is_over do
                turn = turn + 1
                kubelua.sleep(0)
            end
        end)
        two:stop()
        until_shared(one)
        until_true(function() return one:has_synced() and #w.runs >= moved end, "all are run")
        is_over = true
        assert.equal(moved, #w.runs)
        local turns = 0
        for _ in pairs(turns_of_queueing) do
            turns = turns + 1
        end
        assert.is_true(moved > 5 and turns >= moved, moved .. " keys in " .. turns .. " turns")
    end)
end)
