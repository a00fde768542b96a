-- The situations in which APISIX has faults (apisix_spec.lua), with resty.kubelua in a real nginx:
-- a list whose second page fails, changes while workers resolve, a relist that waits between its
-- pages.
local eventually = require "eventually"
local kubelua = require "kubelua"
local nginx_world = require "nginx_world"
local slices = require "slices"

local SLICES = "endpointslices.discovery.k8s.io"

-- What a worker knows: the names of services that it cannot resolve, and the hosts of one service.
local LOCATIONS = [[
    location /missing {
        content_by_lua_block {
            local missing = {}
            for i = 1, tonumber(ngx.var.arg_count) do
                local name = string.format("many/s%05d:http", i)
                if not kube.pick(name) then
                    missing[#missing + 1] = name
                end
            end
            ngx.print(table.concat(missing, " "))
        }
    }
    location /hosts {
        content_by_lua_block {
            local hosts = {}
            for _, endpoint in ipairs(assert(kube.service(ngx.var.arg_of):endpoints())) do
                hosts[#hosts + 1] = endpoint.host
            end
            table.sort(hosts)
            ngx.print(table.concat(hosts, " "))
        }
    }
]]

describe("resty.kubelua", function()
    local world

    after_each(function()
        if world then
            world:close()
            world = nil
        end
    end)

    -- A new owner lists in pages of 500 if the API server has no streaming lists.
    local function start(count)
        local texts = { slices.slice("web", "two", "two-1", { "10.0.0.1", "10.0.0.2" }, 80),
            slices.service("web", "two") }
        for i = 1, count do
            local name = string.format("s%05d", i)
            texts[#texts + 1] = slices.service("many", name)
            texts[#texts + 1] = slices.slice("many", name, name .. "-1", { "127.0.0.1" }, 80)
        end
        -- The last of all slices, so it is on the last page.
        texts[#texts + 1] = slices.slice("web", "two", "zz-2", { "10.0.0.3", "10.0.0.4" }, 80)
        world = nginx_world.start {
            sim = { no_controllers = true, no_streaming_list = true },
            load = slices.list(texts), server = LOCATIONS,
        }
    end

    local function body_of(path)
        local status, body = world.one:get(path)
        assert.equal(200, status)
        return body
    end

    it("keeps every service if the second page of a list fails", function()
        start(800)
        local fault = assert(world.sim:fault { action = "fail", status = 500, verb = "list",
            resource = SLICES, page = 2, count = 0 })
        world:kill_owner() -- the next owner lists everything, in pages
        eventually(function()
            assert.equal("", body_of("/missing?count=800"))
            return world.sim:faults()[1].hits > 1
        end, "the second page fails twice", 30)
        world.sim:heal(fault)
        world:follows(40)
        assert.equal("", body_of("/missing?count=800"))
    end)

    it("shows all of a service while a relist waits between two pages", function()
        start(800)
        assert.equal("10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.4", body_of("/hosts?of=web/two:http"))
        world.sim:fault { action = "delay", before = 1, verb = "list", resource = SLICES, page = 2 }
        world:kill_owner() -- the next owner lists everything, in pages
        world:route { "127.0.0.3" }
        local looks = 0
        eventually(function() -- that is, once both pages have arrived
            assert.equal("10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.4", body_of("/hosts?of=web/two:http"))
            looks = looks + 1
            return body_of("/hosts?of=web/shop:http") == slices.pod_of("127.0.0.3")
        end, "the new owner publishes what it listed", 30)
        assert.equal("10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.4", body_of("/hosts?of=web/two:http"))
        assert.is_true(looks > 1) -- also before that
    end)

    it("keeps no old nodes under a new version, however often it changes", function()
        start(0)
        -- Each request resolves the service.
        local flow = world:traffic { rate = 0, connections = 4 }
        for number = 1, nginx_world.length(20, 200) do
            for change = 1, 20 do
                world:route { world.addresses[(number + change) % 3 + 1] }
            end
            world:follows()
            kubelua.step(0)
        end
        flow:stop()
    end)
end)
