-- kubelua run --reload: what ends and what goes on when a script is replaced, or cannot start.
local core = require "kubelua.core"
local waiting = require "kubelua.waiting"
local world = require "reload_world"

local await, put, save, write_file = world.await, world.put, world.save, world.write_file
local run = world.run

local witness

before_each(function()
    witness = world.begin()
end)

after_each(function()
    world.finish()
end)

-- ---- a start that fails ----

local NOTES = [[
local kubelua = require "kubelua"
local witness = require "witness"
local client = assert(kubelua.connect())
local informer = assert(client:informer { "configmaps", namespace = "default" })
informer:on { add = function(o) witness.note("add " .. o.name .. " " .. o.data.n) end,
    update = function(_, o) witness.note("update " .. o.name .. " " .. o.data.n) end,
    delete = function(o) witness.note("delete " .. o.name) end }
]]

local take_notes, metric, await_more = world.take_notes, world.metric, world.await_more
local save_broken, save_good = world.save_broken, world.save_good
local FAILED, RELOADED = world.FAILED, world.RELOADED

describe("a start that fails", function()
    it("leaves all of the old script at work, and nothing of the new one", function()
        local notes = take_notes()
        local old = NOTES .. [[
            counter = 0
            kubelua.every(0.005, function() counter = counter + 1; witness.ticks = counter end)
            kubelua.spawn(function()
                while true do witness.turns = (witness.turns or 0) + 1; kubelua.sleep(0.005) end
            end)
            kubelua.controller { "configmaps", namespace = "default", reconcile = function(o)
                witness.note("reconcile " .. o.name .. " " .. o.data.n)
            end }
        ]]
        put("a", 1, true)
        run(old, function()
            await(function() return witness.has("reconcile a 1") end, "the first run")
            local live = core.live()
            function witness.change()
                put("a", 2)
            end
            local new = "was_there = counter\n" .. old:gsub("note%(", "note('new ' .. ")
            save_broken(new .. [[
                witness.begun = was_there == nil
                counter = -1000000
                witness.change()
                kubelua.sleep(0.05)
                error("no")
            ]])
            assert.is_true(witness.begun)
            local ticks, turns = witness.ticks, witness.turns
            put("a", 3)
            await(function()
                return witness.has("reconcile a 3") and witness.ticks > ticks + 2
                    and witness.turns > turns + 2
            end, "the old script goes on")
            for _, kind in ipairs { "registrations", "informers", "clients" } do
                assert.equal(live[kind], core.live()[kind])
            end
            local mine = {}
            for _, note in ipairs(notes) do
                if not note:find("reconcile") and not note:find("^new") then
                    mine[#mine + 1] = note
                end
            end
            assert.same({ "add a 1", "update a 2", "update a 3" }, mine)
        end)
    end)

    it("is one with a mistake in its syntax, in a module, or in an option", function()
        take_notes()
        put("a", 1, true)
        run(NOTES, function()
            await(function() return witness.has("add a 1") end, "it runs")
            save_broken("x = = 1")
            save_broken(NOTES .. 'require "is_not_there"')
            save_broken(NOTES .. 'kubelua.controller { "configmaps", recondile = print }')
            write_file("part.lua", "return = 1")
            save_broken(NOTES .. 'require "part"')
            put("a", 2)
            await(function() return witness.has("update a 2") end, "the old one goes on")
            local before = metric(RELOADED)
            write_file("part.lua", "return 1") -- which the failed start has asked for
            await_more(RELOADED, before)
        end)
        package.loaded.part = nil
    end)

    it("is given up when the script changes again before it has returned", function()
        take_notes()
        run(NOTES, function()
            save(NOTES .. 'witness.waits = true; while true do kubelua.sleep(1) end')
            await(function() return witness.waits end, "the new one waits")
            save_good(NOTES .. 'witness.note("third")')
            assert.is_true(witness.has("third"))
        end)
    end)

    it("is given up, if it is the first one, and begins again", function()
        take_notes()
        put("a", 1, true)
        run(NOTES .. "while true do kubelua.step(0.01); witness.waits = true end", function()
            await(function() return witness.waits end, "it does not return")
            save(NOTES .. 'assert(informer:wait_synced()); witness.note("begun")')
            await(function() return witness.has("begun") end, "the next start")
        end)
    end)

    it("is one whose file is gone", function()
        run(NOTES, function()
            local before = metric(FAILED) or 0
            os.remove(world.path)
            await_more(FAILED, before)
            save_good(NOTES .. "-- back")
        end)
    end)
end)

-- ---- what ends, and what goes on ----

describe("a script that is replaced", function()
    it("ends its runs before the next one begins", function()
        local notes = take_notes()
        local function text(name)
            return NOTES .. ([[
                witness.note("begin NAME")
                kubelua.controller { "configmaps", namespace = "default", reconcile = function(o)
                    witness.note("run NAME")
                    kubelua.sleep(0.2)
                    witness.note("ran NAME")
                end }
            ]]):gsub("NAME", name)
        end
        put("a", 1, true)
        run(text("1"), function()
            await(function() return witness.has("run 1") end, "a run")
            save_good(text("2"))
            await(function() return witness.has("ran 2") end, "a run of the next one")
        end)
        local order = {}
        for _, note in ipairs(notes) do
            order[#order + 1] = note:match("^[br][a-z]+ %d$")
        end
        assert.same({ "begin 1", "run 1", "ran 1", "begin 2", "run 2", "ran 2" }, order)
    end)

    it("has its runs cancelled after the time of --grace, and their keys run again", function()
        take_notes()
        waiting.grace = 0.05
        put("a", 1, true)
        local text = NOTES .. [[
            kubelua.controller { "configmaps", namespace = "default", reconcile = function(o)
                witness.note("run NAME")
                if NAME == 1 then kubelua.sleep(60) end
            end }
        ]]
        run(text:gsub("NAME", "1"), function()
            await(function() return witness.has("run 1") end, "a run")
            save_good(text:gsub("NAME", "2"))
            await(function() return witness.has("run 2") end, "a run of the next one")
        end)
    end)

    it("loses no key and no delete: the next controller calls gone", function()
        take_notes()
        local text = NOTES .. [[
            if NAME == 2 then -- its predecessor does not get this event any more
                assert(client:delete("configmaps", "default", "c"))
                while informer:get("default/c") do kubelua.sleep(0.001) end
            end
            kubelua.controller { "configmaps", namespace = "default", client = client, workers = 1,
                gone = function(key) witness.note("gone " .. key .. " NAME") end,
                reconcile = function(o)
                    witness.note("run " .. o.name .. " NAME")
                    if o.data.n == "slow" then kubelua.sleep(0.3) end
                end }
        ]]
        for _, name in ipairs { "a", "b", "c" } do
            put(name, 1, true)
        end
        run(text:gsub("NAME", "1"), function()
            await(function() return witness.has("run c 1") end, "the first runs")
            put("a", "slow")
            await(function() return witness.has("update a slow") end, "a run that goes on")
            world.delete("b") -- it waits behind that run
            await(function() return witness.has("delete b") end, "the event")
            save_good(text:gsub("NAME", "2"))
            await(function()
                return witness.has("gone default/b 2") and witness.has("gone default/c 2")
            end, "both are told")
            assert.is_false(witness.has("gone default/b 1") or witness.has("gone default/c 1"))
        end)
    end)

    it("lets its tasks clean up, which were told nothing before", function()
        take_notes()
        run(NOTES .. [[
            kubelua.spawn(function()
                pcall(kubelua.sleep, 60)
                witness.note("cleans up")
            end)
        ]], function()
            save_good(NOTES .. "-- 2")
            assert.is_true(witness.has("cleans up"))
        end)
    end)

    it("keeps the Lease that the next one asks for", function()
        take_notes()
        local text = [[
            local kubelua = require "kubelua"
            local witness = require "witness"
            local client = assert(kubelua.connect())
            kubelua.controller { "configmaps", namespace = "default", client = client,
                leader = { name = "own", namespace = "default" }, reconcile = function(o)
                    witness.note("run NAME")
                end }
        ]]
        put("a", 1, true)
        run(text:gsub("NAME", "1"), function()
            await(function() return witness.has("run 1") end, "it leads")
            local function lease()
                local _, body = world.sim:call { method = "GET", target =
                    "/apis/coordination.k8s.io/v1/namespaces/default/leases/own" }
                return core.decode(body).spec
            end
            local before = lease()
            for i = 2, 5 do
                save_good(text:gsub("NAME", i))
                await(function() return witness.has("run " .. i) end, "it leads at once")
            end
            assert.equal(before.holderIdentity, lease().holderIdentity)
            assert.equal(before.leaseTransitions, lease().leaseTransitions)
            assert.equal(before.acquireTime, lease().acquireTime)
            save_good("-- no controller")
            await(function() return (lease().holderIdentity or "") == "" end, "it is released")
        end)
    end)

    it("leaves neither globals nor modules, but counters and modules of others", function()
        take_notes()
        write_file("counts.lua", "counted = (counted or 0) + 1; return { n = counted }")
        local text = [[
            local kubelua = require "kubelua"
            local witness = require "witness"
            local n = require("counts").n
            witness.note("n " .. n .. " " .. tostring(was_here))
            was_here = "NAME"
            setmetatable(_G, { __index = function() error("strict") end })
            kubelua.metric.counter("reload_spec_total", "Starts."):inc()
        ]]
        run(text, function()
            local before = metric("reload_spec_total")
            save_good(text .. "-- 2")
            save_broken(text .. "error(1)")
            save_good(text .. "-- 3")
            assert.same({ "n 1 nil", "n 1 nil", "n 1 nil", "n 1 nil" }, witness.notes)
            write_file("counts.lua", "return { n = 7 }")
            await(function() return witness.has("n 7 nil") end, "its module is loaded anew")
            assert.equal(before + 4, metric("reload_spec_total"))
        end)
    end)

    it("has other selectors, indexes and clients in the next one", function()
        take_notes()
        put("a", 1, true)
        put("b", 1, true)
        local text = [[
            local kubelua = require "kubelua"
            local witness = require "witness"
            local client = assert(kubelua.connect(CONNECT))
            local informer = assert(client:informer { "configmaps", labels = "LABELS",
                indexes = { one = "PATH" } })
            assert(informer:wait_synced())
            witness.note(#informer:list() .. " " .. #informer:by("one", "VALUE"))
            informer:on { add = print and function() end }
        ]]
        local function with(connect, labels, index, value)
            return (text:gsub("CONNECT", connect):gsub("LABELS", labels):gsub("PATH", index)
                :gsub("VALUE", value))
        end
        run(with("", "", "data.n", "1"), function()
            await(function() return witness.has("2 2") end, "it runs")
            local live = core.live()
            save_good(with("", "", "metadata.name", "a"))
            save_good(with("", "app=b", "metadata.name", "b"))
            save_good(with("{ namespace = 'web' }", "app in (a)", "metadata.name", "b"))
            assert.same({ "2 2", "2 1", "1 1", "1 0" }, witness.notes)
            for _, kind in ipairs { "registrations", "informers", "clients" } do
                assert.equal(live[kind], core.live()[kind])
            end
        end)
    end)

    it("may be in kubelua.run, or close the client that both have", function()
        take_notes()
        local text = NOTES .. [[
            witness.note("begin")
            LINE
            kubelua.run()
            witness.note("end")
        ]]
        put("a", 1, true)
        run(text:gsub("LINE", ""), function()
            await(function() return witness.has("add a 1") end, "it runs")
            save_broken(text:gsub("LINE", "client:close(); error(1)"))
            put("a", 2)
            await(function() return witness.has("update a 2") end, "the client is still open")
            save_good(text:gsub("LINE", "-- 3"))
            save_good(text:gsub("LINE", "client:close()"))
        end)
        assert.is_true(witness.has("end"))
    end)
end)

-- ---- saved in any way ----

describe("a script is reloaded", function()
    it("when it is written in place, replaced, or linked to another #processes", function()
        take_notes()
        assert(os.execute("cd " .. world.folder .. " && mkdir one two && ln -s one ..data"))
        for _, name in ipairs { "one", "two" } do
            write_file(name .. "/linked.lua", NOTES .. "witness.note('" .. name .. "')")
        end
        assert(os.execute("cd " .. world.folder .. " && ln -s ..data/linked.lua linked.lua"))
        world.path = world.folder .. "/linked.lua"
        run(nil, function()
            local count = metric(RELOADED) or 0
            assert(os.execute("cd " .. world.folder .. " && ln -s two ..new && mv -T ..new ..data"))
            await_more(RELOADED, count)
            assert.is_true(witness.has("two"))
            local file = assert(io.open(world.folder .. "/two/linked.lua", "w"))
            file:write(NOTES .. "witness.note('in place')")
            file:close()
            await_more(RELOADED, count + 1)
            assert.is_true(witness.has("in place"))
        end)
    end)
end)
