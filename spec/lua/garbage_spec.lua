-- Objects that a script has dropped do not pile up, however large the Lua heap is.
local core = require "kubelua.core"
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"

local MEGABYTE = 1024 * 1024
local TEXT = ("x"):rep(100000)
local POD = '{"kind":"Pod","metadata":{"name":"p","namespace":"web"},"a":"' .. TEXT .. '"}'

-- Makes the heap as large as so many megabytes, all in use, together with what earlier specs have
-- left in it.
local function heap_of(megabytes)
    local tables = {}
    collectgarbage()
    while collectgarbage("count") * 1024 < megabytes * MEGABYTE do
        tables[#tables + 1] = { #tables }
    end
    collectgarbage()
    collectgarbage()
    return tables
end

-- The largest number of objects above that at the beginning, while so many are made and dropped.
local function most_of(count, make)
    local before, most = core.live().objects, 0
    for i = 1, count do
        make(i)
        most = math.max(most, core.live().objects - before)
    end
    return most
end

local function parse()
    return core.object(POD)
end

describe("objects that a script has dropped", function()
    after_each(function()
        collectgarbage("restart")
        collectgarbage()
        collectgarbage()
    end)

    it("are at most some megabytes in a small heap", function()
        collectgarbage()
        collectgarbage()
        -- 20 MB. Earlier specs may have left a larger heap: then five times that.
        local limit = math.max(20, 5 * collectgarbage("count") / 1024) * MEGABYTE / #TEXT
        assert.is_true(most_of(2000, parse) < limit)
    end)

    it("are no more than twice a large heap", function()
        local tables = heap_of(30)
        assert.is_true(most_of(3000, parse) < 1500)
        assert.is_table(tables)
    end)

    it("are counted with their parsed trees", function()
        local text = POD:gsub(TEXT, ("x"):rep(10000))
        local tables = heap_of(20)
        assert.is_true(most_of(8000, function()
            return kubelua.json(core.object(text).metadata) -- opens the tree
        end) < 3000)
        assert.is_table(tables)
    end)

    it("wait for a collector that was stopped, and stay stopped", function()
        collectgarbage("stop")
        assert.equal(500, most_of(500, parse))
        if rawget(_G, "jit") == nil then
            assert.is_false(collectgarbage("isrunning"))
        end
        assert.equal(100, most_of(100, parse))
        collectgarbage("restart")
        assert.is_true(most_of(1000, parse) < 400)
    end)

    it("are collected by the generational mode if the script chose it", function()
        if rawget(_G, "jit") or _VERSION ~= "Lua 5.4" then
            return
        end
        collectgarbage("generational")
        local most = most_of(2000, parse)
        assert.equal("generational", collectgarbage("incremental"))
        assert.is_true(most < 200, tostring(most))
    end)

    it("may be made in a finalizer", function()
        if rawget(_G, "jit") then
            return -- LuaJIT: tables have no __gc
        end
        local made = 0
        for _ = 1, 50 do
            setmetatable({}, { __gc = function()
                for _ = 1, 20 do
                    parse()
                    made = made + 1
                end
            end })
        end
        collectgarbage()
        collectgarbage()
        assert.is_true(made >= 1000)
    end)
end)

describe("old states that a handler was given", function()
    it("do not pile up in a large heap", function()
        local sim = assert(Sim.new())
        local client = assert(sim:connect())
        local pods = assert(client:informer { "configmaps" })
        local tables = heap_of(20)
        local before = core.live().objects
        local seen, most = 0, 0
        local object = { apiVersion = "v1", kind = "ConfigMap",
            metadata = { name = "a", namespace = "default" }, data = { a = TEXT } }
        pods:on { coalesce = false, update = function()
            seen = seen + 1
            most = math.max(most, core.live().objects - before)
        end }
        assert(pods:wait_synced(10))
        assert(sim:apply(object))
        for i = 1, 1500 do
            object.data.n = tostring(i)
            assert(sim:apply(object))
            local deadline = core.now() + 30
            while seen < i do
                assert.is_true(core.now() < deadline)
                kubelua.step(1)
            end
        end
        assert.is_true(most < 1000, tostring(most))
        assert.is_table(tables)
        pods:stop()
        client:close()
        sim:close()
    end)
end)
