-- kubelua run --reload: what the handlers of the script before are told, if they are slow.
local core = require "kubelua.core"
local waiting = require "kubelua.waiting"
local world = require "reload_world"

local await, put, run, save_broken, save_good = world.await, world.put, world.run,
    world.save_broken, world.save_good
local text_of = world.text_of

local witness

before_each(function()
    witness = world.begin()
    world.take_notes()
end)

after_each(function()
    world.finish()
end)

-- ---- handlers that get every change ----

describe("a script that stands, with a handler that is full and gets every change", function()
    local OLD = [[
        local informer = assert(client:informer { "configmaps", namespace = "default" })
        informer:on { name = "all", backlog = 1, coalesce = false, add = function(o)
            witness.note("NAME " .. o.name)
            if o.name == "b1" then kubelua.sleep(0.4) end
        end }
    ]]
    local NEW = [[
        witness.put("mine", 1, true)
        local informer = assert(client:informer { "configmaps", namespace = "default" })
        while not informer:get("default/mine") do kubelua.sleep(0.001) end
        informer:on { name = "all", add = function(o) witness.note("NAME " .. o.name) end,
            synced = function() witness.is_synced = true end }
        witness.put("late", 1, true)
        while not informer:get("default/late") do kubelua.sleep(0.001) end
    ]]

    local function fill()
        witness.put = put
        for i = 1, 6 do
            put("b" .. i, 1, true)
        end
        await(function() return witness.has("1 b1") end, "a handler that goes on")
    end

    local function notes_of(number)
        local notes = {}
        for _, note in ipairs(witness.notes) do
            notes[#notes + 1] = note:match("^" .. number .. " (.*)")
        end
        return notes
    end

    it("does not block the next one, and is told what came before it", function()
        run(text_of(OLD, 1), function()
            fill()
            save_good(text_of(NEW, 2))
            await(function() return witness.has("2 late") end, "the last event")
            put("b7", 1, true)
            await(function() return witness.has("2 b7") end, "a later event")
        end)
        assert.same({ "b1", "b2", "b3", "b4", "b5", "b6", "mine" }, notes_of(1))
        local new = notes_of(2)
        table.sort(new)
        assert.same({ "b1", "b2", "b3", "b4", "b5", "b6", "b7", "late", "mine" }, new)
    end)

    it("gets all of them, in order, if the next one cannot start", function()
        run(text_of(OLD, 1), function()
            fill()
            save_broken(text_of(NEW, 2) .. "error('no')")
            put("b7", 1, true)
            await(function() return witness.has("1 b7") end, "a later event")
        end)
        assert.same({ "b1", "b2", "b3", "b4", "b5", "b6", "mine", "late", "b7" }, notes_of(1))
    end)
end)

-- ---- the last events ----

describe("a handler that does not return in time", function()
    it("leaves a warning that says how many events it was not told", function()
        waiting.grace = 0.05
        local lines, log = {}, core.log
        local text = text_of([[
            local informer = assert(client:informer { "configmaps", namespace = "default" })
        ]], 1)
        run(text .. [[
            informer:on { add = function(o)
                witness.note("add " .. o.name)
                if o.name == "b" then pcall(kubelua.sleep, 60) end
            end }
            assert(informer:wait_synced())
            witness.note("synced")
        ]], function()
            await(function() return witness.has("synced") end, "it runs")
            function witness.change()
                for _, name in ipairs { "a", "b", "c", "d" } do
                    put(name, 1, true)
                end
            end
            core.log = function(level, message) -- luacheck: ignore
                lines[#lines + 1] = level .. " " .. message
            end
            local ok, problem = pcall(save_good, text .. [[
                witness.change()
                while not informer:get("default/d") do kubelua.sleep(0.001) end
            ]])
            core.log = log -- luacheck: ignore
            assert(ok, problem)
        end)
        assert.is_true(witness.has("add b"))
        assert.is_false(witness.has("add c"))
        assert.truthy(table.concat(lines, "\n"):find("2 later events", 1, true))
    end)
end)
