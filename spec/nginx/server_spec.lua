-- Trouble with the API server and its answers, under traffic, beside a static upstream: many
-- changes, an outage, lists that are cut, versions that are gone (410), more than the map can hold.
local core = require "kubelua.core"
local eventually = require "eventually"
local kubelua = require "kubelua"
local nginx_world = require "nginx_world"
local slices = require "slices"
local traffic = require "nginx_traffic"

describe("Routing by the shared map", function()
    local world

    after_each(function()
        if world then
            world:close()
            world = nil
        end
    end)

    local function services(count, addresses, port)
        local texts = {}
        for i = 1, count do
            local name = string.format("s%05d", i)
            texts[#texts + 1] = slices.service("many", name)
            texts[#texts + 1] = slices.slice("many", name, name .. "-1", addresses, port or 80)
        end
        return slices.list(texts)
    end

    -- Breaks the watches; the versions from which they would resume are gone.
    local function force_relist()
        world.sim:compact()
        world.sim:cut()
    end

    it("answers every request at 1,000 endpoint changes a second", function()
        world = nginx_world.start { load = services(200, { "127.0.0.1", "127.0.0.2" }) }
        local flow = world:traffic()
        local port = world.backends.backend_port
        local count = world:repeatedly(1000, nginx_world.length(3, 20), function(number)
            local name = string.format("s%05d", number % 200 + 1)
            if number % 2 == 0 then
                local at = number % 3 + 1
                world:route { world.addresses[at], world.addresses[at + 1] }
            else
                assert(world.sim:load(slices.slice("many", name, name .. "-1",
                    { world.addresses[number % 3 + 1] }, port)))
            end
        end)
        traffic.compare(flow:stop(), "kube")
        assert.is_true(count > 500 * nginx_world.length(3, 20))
        world:follows()
    end)

    it("goes on serving without the API server while workers are killed", function()
        world = nginx_world.start()
        world:follows()
        world.sim:refuse(true)
        local flow = world:traffic()
        local ends = kubelua.now() + nginx_world.length(4, 60)
        while kubelua.now() < ends do
            -- If reloads came more often, more of the long requests in flight would break.
            local due = kubelua.now() + 0.25
            local pids = world.one:workers()
            world.one:signal("KILL", pids[1])
            eventually(function()
                local now = world.one:workers()
                return #now == 2 and now[2] ~= pids[2] and world:state()
            end, "a worker takes the place of the one killed")
            while kubelua.now() < due do
                kubelua.step(0.02)
            end
        end
        traffic.compare(flow:stop(), "kube")
        assert.equal(1, world:state().kubelua_synced)
        assert.is_true(world:state().kubelua_age_seconds > 0.5)
        world.sim:refuse(false)
        world:follows(30)
    end)

    it("goes on serving without the API server through reloads", function()
        world = nginx_world.start()
        world:follows()
        world.sim:refuse(true)
        local flow = world:traffic()
        for _ = 1, nginx_world.length(2, 20) do
            local before = world.one:workers()
            world.one:reload()
            eventually(function()
                local now = world.one:workers()
                return #now == 2 and now[1] ~= before[1] and now[2] ~= before[2] and world:state()
            end, "the new workers answer")
            assert.equal(200, (world.one:get("/kube")))
        end
        traffic.compare(flow:stop(), "kube")
        world.sim:refuse(false)
        world:follows(30)
    end)

    it("uses nothing of a list that is cut in the middle", function()
        world = nginx_world.start { load = services(300, { "127.0.0.1" }) }
        local entries = world:state().kubelua_entries
        local flow = world:traffic()
        -- Cuts every list, streamed or paged, before its end.
        world.sim:cut { resource = "endpointslices.discovery.k8s.io", after_bytes = 20000,
            open = false, count = 4 }
        world.sim:cut { resource = "services", after_bytes = 20000, open = false, count = 4 }
        force_relist()
        for _ = 1, 20 do
            assert.equal(entries, world:state().kubelua_entries)
            kubelua.step(0.05)
        end
        world.sim:heal()
        world:follows(30)
        traffic.compare(flow:stop(), "kube")
        assert.equal(entries, world:state().kubelua_entries)
    end)

    it("answers every request through versions that are gone (410)", function()
        world = nginx_world.start { load = services(300, { "127.0.0.1" }) }
        local flow = world:traffic()
        for _ = 1, nginx_world.length(3, 20) do
            world.sim:fault { action = "expire", verb = "watch" }
            force_relist()
            world:follows(30)
        end
        traffic.compare(flow:stop(), "kube")
    end)

    it("publishes what fits if the map is full, names the rest, and recovers", function()
        local began = core.now()
        world = nginx_world.start { init = "size = 1048576," }
        world:follows()
        local flow = world:traffic()
        assert(world.sim:load(services(4000, { "127.0.0.1", "127.0.0.2", "127.0.0.3" })))
        eventually(function()
            local state = world:state()
            return state and state.kubelua_full_total > 0
        end, "the map is full")
        assert(world.sim:delete_all("endpointslices.discovery.k8s.io", { namespace = "many" }))
        assert(world.sim:delete_all("services", { namespace = "many" }))
        world:follows(30)
        traffic.compare(flow:stop(), "kube")
        local told = world.one:count("is full")
        local most = 10 * (1 + math.ceil((core.now() - began) / 10)) -- 10 lines in 10 s
        assert.is_true(told >= 1 and told <= most, told .. " lines")
    end)
end)
