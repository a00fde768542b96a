-- Trouble with nginx's processes, under traffic, beside a static upstream: reloads, workers that
-- are killed or suspended, another number of workers, no code cache, a binary upgrade.
local eventually = require "eventually"
local kubelua = require "kubelua"
local nginx_world = require "nginx_world"
local traffic = require "nginx_traffic"

describe("Routing by the shared map", function()
    local world

    after_each(function()
        if world then
            world:close()
            world = nil
        end
    end)

    local function each_second(times, what)
        for number = 1, times do
            local due = kubelua.now() + 1
            what(number)
            while kubelua.now() < due do
                kubelua.step(0.05)
            end
        end
    end

    it("answers every request through a reload each second", function()
        world = nginx_world.start()
        local flow = world:traffic()
        each_second(nginx_world.length(5, 20), function(number)
            world:route { world.addresses[number % 4 + 1] }
            world.one:reload()
        end)
        traffic.compare(flow:stop(), "kube")
        world:follows()
    end)

    it("answers every request through kill -9 of the owner each second", function()
        world = nginx_world.start { workers = 3 }
        local flow = world:traffic()
        local before = world:state().kubelua_takeovers_total
        local times = nginx_world.length(4, 20)
        each_second(times, function(number)
            world:route { world.addresses[number % 4 + 1] }
            world:kill_owner()
        end)
        traffic.compare(flow:stop(), "kube")
        world:follows()
        assert.is_true(world:state().kubelua_takeovers_total >= before + times)
    end)

    it("goes on serving while the owner is suspended, and reports the age of its state", function()
        world = nginx_world.start { workers = 3 }
        world:follows()
        local owner = world:owner()
        world.one:signal("STOP", owner)
        local flow = world:traffic() -- the other workers accept it
        local begun = kubelua.now()
        local aged = eventually(function()
            local state = world:state()
            return state and state.kubelua_age_seconds >= 2 and state
        end, "the age grows")
        assert.equal(1, aged.kubelua_synced)
        assert.equal(tonumber(owner), aged.kubelua_owner_pid)
        assert.is_true(kubelua.now() - begun < 20)
        world.one:signal("CONT", owner)
        traffic.compare(flow:stop(), "kube")
        world:follows()
    end)

    it("answers every request while the number of workers changes", function()
        world = nginx_world.start()
        local flow = world:traffic()
        for _, count in ipairs { 4, 1, 3 } do
            local old = {}
            for _, pid in ipairs(world.one:workers()) do
                old[pid] = true
            end
            world.one:configure { workers = count }
            world.one:reload()
            eventually(function()
                local now = world.one:workers()
                return #now == count and not old[now[1]]
            end, "there are " .. count .. " new workers")
            world:follows()
        end
        traffic.compare(flow:stop(), "kube")
    end)

    it("works with lua_code_cache off, through reloads", function()
        world = nginx_world.start { code_cache = false }
        local flow = world:traffic { connections = 8, rate = 100 }
        world:follows()
        for _ = 1, 6 do
            world.one:reload()
            world:follows()
        end
        traffic.compare(flow:stop(), "kube")
    end)

    it("answers every request through a binary upgrade", function()
        world = nginx_world.start()
        local one = world.one
        local flow = world:traffic()
        local old = one:master()
        one:signal("USR2")
        eventually(function()
            local new = one:master()
            return new and new ~= old and #one:workers(new) == 2
        end, function()
            return "a new master starts: " .. one:said()
        end)
        one:signal("QUIT", old)
        eventually(function()
            return #one:workers(old) == 0
        end, "the old workers exit")
        world:follows()
        traffic.compare(flow:stop(), "kube")
    end)
end)
