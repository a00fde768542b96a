-- Which objects that init_by_lua opens can be used in workers: nginx forks afterwards. A daemon
-- forks once more.
local eventually = require "eventually"
local guest = require "nginx_guest"

describe("A worker of nginx", function()
    local world, one

    before_each(function()
        world = guest.new()
    end)

    after_each(function()
        world:close()
    end)

    local FORKED = [[
        location /forked { content_by_lua_block {
            local text = {}
            for _, call in ipairs(opened and {
                function() return opened:get("default/p1") end,
                function() return opened:get("default/none") end,
                function() return opened:count() end,
                function() return opened:list() end,
                function() return opened:has_synced() end,
                function() return of:namespace() end,
                function() return of:informer "nodes" end,
            } or {}) do
                local result, _, code = call()
                text[#text + 1] = tostring(result) .. " " .. tostring(code)
            end
            ngx.say(table.concat(text, ", "))
        } }
    ]]

    local function reloads_well()
        for _ = 1, 3 do
            local before = one:workers()
            one:reload()
            eventually(function()
                local now = one:workers()
                return #now == 2 and now[1] ~= before[1] and now[2] ~= before[2]
            end, function()
                return "the workers are new\n" .. one:said()
            end, 20)
            world:says("/state", "3 3 3")
        end
        assert.equal(0, one:count("init_by_lua error"))
    end

    local CLOSED = [[
        init_by_lua_block {
            kubelua = require "kubelua"
            local client = assert(kubelua.connect { server = "URL" })
            local pods = assert(client:informer "pods")
            assert(pods:wait_synced(20))
            assert(#assert(client:list "pods") == 3)
            client:close()
            assert(require("kubelua.core").live()["event queues"] == 0)
        }
    ]]

    local function start(options, init)
        options.http = guest.INIT_WORKER:gsub("MORE", guest.TIMER)
        options.server = guest.STATE .. FORKED
        one = world:start(options, init)
    end

    it("keeps nothing in workers of a client that init_by_lua closed, through reloads", function()
        start({ workers = 2 }, CLOSED)
        world:says("/state", "3 3 3")
        reloads_well()
    end)

    it("returns 'forked' for what init_by_lua left open; a new client can connect", function()
        start({ workers = 2 }, [[
            init_by_lua_block {
                kubelua = require "kubelua"
                of = assert(kubelua.connect { server = "URL" })
                opened = assert(of:informer "pods")
                assert(opened:wait_synced(20))
                pod = opened:get("default/p1")
            }
        ]])
        world:says("/state", "3 3 3")
        world:says("/forked", ("nil forked, "):rep(6) .. "nil forked")
        reloads_well()
        world:says("/forked", ("nil forked, "):rep(6) .. "nil forked")
    end)

    it("does so too if nginx is a daemon, which forks once more", function()
        start({ workers = 2, daemon = true }, CLOSED)
        world:says("/state", "3 3 3")
        reloads_well()
    end)

    it("runs without a master process", function()
        start({ workers = 1, master = false }, CLOSED)
        world:says("/state", "3 3 3")
    end)

    it("connects in the worker that replaces a killed one", function()
        start({ workers = 1 }, CLOSED)
        for _ = 1, 5 do
            world:says("/state", "3 3 3")
            local victim = one:workers()[1]
            one:signal("KILL", victim)
            eventually(function()
                local now = one:workers()[1]
                return now and now ~= victim
            end, "another worker", 20)
        end
    end)
end)
