-- kubelua run --reload: faults of a script that must not end the process, nor lose a key or client.
local core = require "kubelua.core"
local kubelua = require "kubelua"
local tasks = require "kubelua.tasks"
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

-- ---- keys ----

describe("a key that waits for its time", function()
    -- The new script's `delay` is 0, so what it notes does not take that long.
    local CONTROLLER = [[
        witness.controller = kubelua.controller { "configmaps", namespace = "default",
            client = client, delay = DELAY, reconcile = function(o)
                witness.note("run " .. o.name .. " NAME")
            end, gone = function(key)
                witness.note("gone " .. key .. " NAME")
                return AGAIN
            end }
    ]]

    local function text(number, delay, again)
        return text_of(CONTROLLER:gsub("DELAY", delay):gsub("AGAIN", again), number)
    end

    it("in `delay` after a delete is handed over", function()
        put("a", 1, true)
        run(text(1, 0.5, "nil"), function()
            await(function() return witness.has("run a 1") end, "the first run")
            world.delete("a")
            await(function()
                return witness.controller:status().queue.delayed == 1
            end, "the delete is gathered")
            save_good(text(2, 0, "nil"))
            await(function() return witness.has("gone default/a 2") end, "the next one is told")
            assert.is_false(witness.has("gone default/a 1"))
        end)
    end)

    it("which `gone` has asked for is handed over, and keeps its time", function()
        put("a", 1, true)
        run(text(1, 0, "1"), function()
            await(function() return witness.has("run a 1") end, "the first run")
            world.delete("a")
            await(function() return witness.has("gone default/a 1") end, "gone is called")
            local since = core.now()
            await(function()
                return witness.controller:status().queue.delayed == 1
            end, "a later run is asked for")
            save_good(text(2, 0, "nil"))
            await(function() return witness.has("gone default/a 2") end, "the next one is told")
            assert.is_true(core.now() - since > 0.95)
        end)
    end)

    it("which enqueue has set for a key without an object is handed over", function()
        run(text(1, 0, "nil"), function()
            await(function() return witness.controller:has_synced() end, "it runs")
            witness.controller:enqueue("default/own", 1)
            witness.controller:enqueue("default/late", 1000)
            local since = core.now()
            save_good(text(2, 0, "nil"))
            await(function() return witness.has("gone default/own 2") end, "its run")
            assert.is_true(core.now() - since > 0.95)
            assert.equal(1, witness.controller:status().queue.delayed)
            assert.is_false(witness.has("gone default/late 2"))
        end)
    end)

    it("is handed over to a controller that spells the resource in another way", function()
        put("a", 1, true)
        run(text(1, 0.5, "nil"), function()
            await(function() return witness.has("run a 1") end, "the first run")
            world.delete("a")
            await(function()
                return witness.controller:status().queue.delayed == 1
            end, "the delete is gathered")
            save_good((text(2, 0, "nil"):gsub('"configmaps"', '"cm"')))
            await(function() return witness.has("gone default/a 2") end, "the next one is told")
        end)
    end)

    it("and whose run does not end in time runs again", function()
        waiting.grace = 0.01
        put("a", 1, true)
        local stubborn = text_of([[
            kubelua.controller { "configmaps", namespace = "default", client = client,
                gone = function(key) witness.note("gone " .. key .. " NAME") end,
                reconcile = function(o)
                    witness.note("run " .. o.name .. " NAME")
                    while NAME == 1 do pcall(kubelua.sleep, 0.05) end
                end }
        ]], 1)
        run(stubborn, function()
            await(function() return witness.has("run a 1") end, "the first run")
            world.delete("a")
            save_good(text(2, 0, "nil"))
            await(function() return witness.has("gone default/a 2") end, "the next one is told")
        end)
    end)
end)

-- ---- clients ----

describe("a client that both scripts have", function()
    it("stays open when a task of the old script closes it, to clean up", function()
        put("a", 1, true)
        run(text_of([[
            kubelua.spawn(function()
                local ok, problem = pcall(kubelua.sleep, 1000)
                client:close()
                witness.note("closed")
                error(problem, 0)
            end)
        ]], 1), function()
            save_good(text_of([[
                local informer = assert(client:informer { "configmaps", namespace = "default" })
                informer:on { add = function(o) witness.note("add " .. o.name) end }
                witness.client = client
            ]], 2))
            assert.is_true(witness.has("closed"))
            await(function() return witness.has("add a") end, "the new handler")
            put("b", 1, true)
            await(function() return witness.has("add b") end, "a later event")
            assert.equal("a", assert(witness.client:get("configmaps", "default", "a")).name)
        end)
    end)

    it("is closed with the script before, if that has closed it, and no other took it", function()
        run(text_of([[
            witness.note("NAME")
            kubelua.spawn(function()
                pcall(kubelua.sleep, 1000)
                client:close()
            end)
        ]], 1), function()
            local live = core.live().clients
            save_good("-- no client")
            assert.equal(live - 1, core.live().clients)
        end)
    end)
end)

-- ---- what a script may do to the tables that it shares with the next ----

describe("a save does not end the process", function()
    it("if _G has a metatable that cannot be changed, or a global is equal to all", function()
        run(text_of([[
            setmetatable(_G, { __metatable = "locked" })
            odd = setmetatable({}, { __eq = function() error("compared") end })
            witness.note("run NAME")
        ]], 1), function()
            save_good(text_of([[ witness.note("run NAME " .. tostring(odd)) ]], 2))
            assert.is_true(witness.has("run 2 nil"))
            assert.is_nil(getmetatable(_G))
        end)
    end)

    it("if kubelua.run gets a wrong time", function()
        run(text_of("witness.note('run NAME')", 1), function()
            save_broken(text_of("kubelua.run(-1)", 2))
            save_broken(text_of("kubelua.run { seconds = 0/0 }", 3))
            save_good(text_of("witness.note('run NAME')", 4))
            assert.is_true(witness.has("run 4"))
        end)
    end)

    it("if kubelua.run is called in a module, which an error explains", function()
        run(text_of("-- NAME", 1), function()
            world.write_file("ends.lua", 'require("kubelua").run()')
            save_broken(text_of([[
                local ok, problem = pcall(require, "ends")
                witness.note(tostring(problem))
                error(problem, 0)
            ]], 2))
            assert.truthy(witness.notes[1]:find("call it in the script itself", 1, true))
        end)
    end)

    it("if something fails between the two scripts", function()
        local scripts = require "kubelua.script"
        local make = scripts.new
        run(text_of([[
            own = "mine"
            kubelua.every(0.005, function() witness.own, witness.by = own, NAME end)
        ]], 1), function()
            function scripts.new() error("memory is short") end
            local ok, problem = pcall(save_broken, text_of("-- NAME", 2))
            scripts.new = make
            assert(ok, problem)
            witness.own = nil
            await(function() return witness.own == "mine" end, "the old script goes on")
            save_good(text_of("kubelua.every(0.005, function() witness.by = NAME end)", 3))
            await(function() return witness.by == 3 end, "a later one takes over")
        end)
    end)
end)

-- ---- signals ----

describe("SIGTERM while the main part of a script computes", function()
    it("ends the run, and lets the tasks of the script before clean up #signals", function()
        run(text_of([[
            kubelua.spawn(function()
                pcall(kubelua.sleep, 1000)
                witness.note("cleans up NAME")
            end)
        ]], 1), function()
            world.save(text_of([[
                witness.note("begin NAME")
                assert(os.execute("kill -TERM $PPID"))
                local till = os.clock() + 0.05
                while os.clock() < till do end
                witness.note("computed NAME")
            ]], 2))
            pcall(kubelua.sleep, 30)
        end)
        assert.same({ "begin 2", "computed 2", "cleans up 1" }, witness.notes)
    end)
end)

describe("SIGTERM when a reload is over", function()
    it("and the signals are given back ends the run #signals", function()
        local methods, befores = debug.getmetatable(tasks.poller).__index, {}
        local function send_before(name)
            befores[name] = methods[name]
            methods[name] = function(...)
                if witness.is_over then
                    witness.is_over = nil
                    assert(os.execute("kill -TERM $PPID"))
                end
                return befores[name](...)
            end
        end
        send_before("release")
        send_before("release_unless_caught")
        run(text_of("witness.note('begin NAME')", 1), function()
            world.save(text_of("witness.note('begin NAME') witness.is_over = NAME == 2", 2))
            if pcall(kubelua.sleep, 5) then
                witness.note("goes on")
            end
        end)
        for name, method in pairs(befores) do
            methods[name] = method
        end
        assert.same({ "begin 1", "begin 2" }, witness.notes)
    end)
end)

-- ---- starts that fail ----

describe("a start that fails leaves no trace", function()
    it("in package.path, package.preload, and the module kubelua", function()
        local before = { package.path, package.cpath, kubelua.backlog }
        local text = [[
            witness.note(#package.path .. " " .. kubelua.backlog .. " "
                .. tostring(kubelua.own) .. tostring(package.preload.own))
            package.path = "./own/?.lua;" .. package.path
            package.cpath = "./own/?.so;" .. package.cpath
            kubelua.backlog, kubelua.own, package.preload.own = NAME, NAME, function() end
        ]]
        run(text_of(text, 1), function()
            local settings = { package.path, package.cpath, kubelua.backlog }
            save_broken(text_of(text, 2) .. "error(1)")
            assert.same(settings, { package.path, package.cpath, kubelua.backlog })
            assert.equal(1, kubelua.own)
            save_good(text_of(text, 3))
            assert.equal("./own/?.lua;" .. before[1], package.path)
        end)
        assert.equal(witness.notes[1], witness.notes[2])
        assert.equal(witness.notes[1], witness.notes[3])
        package.path, package.cpath, kubelua.backlog = before[1], before[2], before[3]
        kubelua.own, package.preload.own = nil, nil
    end)

    it("of its kubelua.stop()", function()
        run(text_of("kubelua.every(0.005, function() witness.by = NAME end)", 1), function()
            save_broken(text_of("kubelua.stop() error('no')", 2))
            save_broken(text_of("kubelua.stop() kubelua.sleep(1)", 3))
            witness.by = nil
            await(function() return witness.by == 1 end, "the old script goes on")
        end)
    end)

    it("on the time of the kubelua.run that goes on", function()
        run(text_of([[
            local since = kubelua.now()
            kubelua.run(0.6)
            witness.seconds = kubelua.now() - since
        ]], 1), function()
            for i = 1, 40 do
                pcall(save_broken, "error(" .. i .. ")") -- at last, the run ends
            end
        end)
        assert.is_true(witness.seconds < 1.5, witness.seconds .. " s")
    end)
end)

-- ---- versions ----

describe("a start that goes on while a mistake is saved", function()
    local function version()
        return kubelua.metric.text():match('kubelua_script_info{[^}]*version="(%w+)"} 1')
    end

    it("has the version of its own text", function()
        local text = text_of([[
            witness.waits = true
            while not witness.goes do kubelua.sleep(0.005) end
        ]], 1)
        run("-- NAME", function()
            local before = world.metric(world.RELOADED) or 0
            world.save(text)
            await(function() return witness.waits end, "its start")
            save_broken("x = = 1")
            witness.goes = true
            world.await_more(world.RELOADED, before)
            local of_start = version()
            save_good(text)
            assert.equal(version(), of_start)
        end)
    end)
end)
