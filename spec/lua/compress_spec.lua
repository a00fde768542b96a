-- Objects that rest compressed: what a script reads of them is what the server has. They are read
-- in turns: more of them than texts are open at once. A loop goes on in the tree of an object.
local at_collection = require "at_collection"
local kubelua = require "kubelua"
local core = require "kubelua.core"
local Sim = require "kubelua.sim"

local COUNT = 300

local function config_map(number, value)
    local data = {}
    for field = 1, 20 do
        data["setting-" .. field] = ("https://shop-%d.example.com/%d/%s"):format(
            field * 7919, number % 7, value):rep(2)
    end
    return { apiVersion = "v1", kind = "ConfigMap", data = data,
        metadata = { name = "c-" .. number, namespace = "web",
            labels = { part = tostring(number % 3) } } }
end

local function all_of(value)
    local maps = {}
    for number = 1, COUNT do
        maps[number] = config_map(number, value)
    end
    return kubelua.json { apiVersion = "v1", kind = "List", items = maps }
end

local all = all_of("a") -- made once, as it takes long if the collector always runs

for _, compress in ipairs { true, false } do
    describe("an informer with compress = " .. tostring(compress), function()
        local sim, client, informer

        before_each(function()
            sim = assert(Sim.new())
            assert(sim:load(all))
            client = assert(sim:connect())
            informer = assert(client:informer { "configmaps", namespace = "web",
                compress = compress, indexes = { part = "metadata.labels.part",
                    first = function(map) return map.data["setting-1"] end } })
            assert.is_true(informer:wait_synced(60))
        end)
        after_each(function()
            client:close()
            sim:close()
        end)

        it("has each object as the server has it", function()
            for _ = 1, 2 do
                for number = 1, COUNT, 7 do
                    local map = informer:get("web", "c-" .. number)
                    assert.same(map:table(), kubelua.decode(map:json()))
                    assert.same(config_map(number, "a").data, map:table().data)
                    assert.equal("ConfigMap web/c-" .. number, tostring(map))
                end
                collectgarbage()
            end
        end)

        it("lists by labels and by both kinds of index", function()
            assert.equal(100, #informer:list { labels = "part=1" })
            assert.equal(100, #informer:by("part", "2"))
            local first = informer:get("web/c-7").data["setting-1"]
            assert.equal(42, #informer:by("first", first))
            assert.equal("c-105", informer:by("first", first)[1].name)
        end)

        it("hands out what was and what is, and a deleted one", function()
            local seen = {}
            local handler = informer:on {
                update = function(old, new)
                    seen[#seen + 1] = { old.data["setting-3"], new.data["setting-3"] }
                end,
                delete = function(map) seen[#seen + 1] = map.data["setting-3"] end,
            }
            kubelua.step(0)
            for number = 1, 20 do
                assert(sim:apply(config_map(number, "b")))
            end
            assert(client:delete("configmaps", "web/c-1"))
            local deadline = kubelua.now() + 60
            while #seen < 21 and kubelua.now() < deadline do
                kubelua.step(1)
            end
            for number = 1, 20 do
                assert.same({ config_map(number, "a").data["setting-3"],
                    config_map(number, "b").data["setting-3"] }, seen[number])
            end
            assert.equal(config_map(1, "b").data["setting-3"], seen[21])
            handler:remove()
        end)
    end)
end

describe("compress", function()
    it("is a boolean", function()
        local sim = assert(Sim.new())
        local client = assert(sim:connect())
        assert.has_error(function() client:informer { "pods", compress = 1 } end)
        client:close()
        sim:close()
    end)
end)

-- Some have strings that do not fit a small buffer.
describe("compressed objects that are read in turns", function()
    local sim, client, informer

    local function turned_map(number)
        local data = { long = (number .. " of many "):rep(200), lines = number .. "\n\"x\"" }
        for field = 1, 20 do
            data["setting-" .. field] = ("https://shop-%d.example.com/%d"):format(
                field * 7919, number)
        end
        return { apiVersion = "v1", kind = "ConfigMap", data = data,
            metadata = { name = "c-" .. number, namespace = "web",
                annotations = { number = tostring(number) } } }
    end

    setup(function()
        local maps = {}
        for number = 1, COUNT do
            maps[number] = turned_map(number)
        end
        local large = { apiVersion = "v1", kind = "ConfigMap", data = {},
            metadata = { name = "large", namespace = "web" } }
        for field = 1, 2000 do
            large.data["setting-" .. field] = "value-" .. field
        end
        maps[COUNT + 1] = large
        sim = assert(Sim.new())
        assert(sim:load(kubelua.json { apiVersion = "v1", kind = "List", items = maps }))
        client = assert(sim:connect())
        informer = assert(client:informer { "configmaps", namespace = "web" })
        assert.is_true(informer:wait_synced(60))
    end)
    teardown(function()
        client:close()
        sim:close()
    end)

    local function check(data, number)
        assert.equal(number .. "\n\"x\"", data.lines)
        assert.equal((number .. " of many "):rep(200), data.long)
        assert.equal("https://shop-7919.example.com/" .. number, data["setting-1"])
    end

    it("have their own fields", function()
        local maps, parts = {}, {}
        for i = 1, 12 do
            maps[i] = informer:get("web", "c-" .. i * 7)
            parts[i] = maps[i].data
        end
        for _ = 1, 3 do
            for i, part in ipairs(parts) do
                check(part, i * 7)
                assert.equal(tostring(i * 7), maps[i].metadata.annotations.number)
            end
            kubelua.step(0)
        end
    end)

    it("have their own fields if finalizers read others", function()
        for round = 1, 20 do
            for i = 1, 6 do
                local other = informer:get("web", "c-" .. i)
                at_collection(function()
                    for number = 100, 106 do
                        check(informer:get("web", "c-" .. number).data, number)
                    end
                    assert(other)
                end)
            end
            local map = informer:get("web", "c-" .. 200 + round)
            local seen = 0
            for key, value in kubelua.pairs(map.data) do
                assert.equal(map.data[key], value)
                seen = seen + 1
            end
            assert.equal(22, seen)
            check(map.data, 200 + round)
            collectgarbage()
        end
    end)

    it("have their own fields in a loop that reads others", function()
        local data = informer:get("web", "large").data
        local seen, count = {}, 0
        for key, value in kubelua.pairs(data) do
            count = count + 1
            assert.is_nil(seen[key])
            seen[key] = value
            local number = count % COUNT + 1
            assert.equal("https://shop-7919.example.com/" .. number,
                informer:get("web", "c-" .. number).data["setting-1"])
        end
        assert.equal(2000, count)
        for field = 1, count do
            assert.equal("value-" .. field, seen["setting-" .. field])
        end
    end)
end)

describe("an object that is parsed by a loop over its parts", function()
    -- Else each part would be looked for in the tree from the first one on: 4,000 would take some
    -- hundred times as long.
    it("gives it parts of the tree", function()
        local items = {}
        for i = 1, 4000 do
            items[i] = ('{"number":%d,"text":"some text that is not read"}'):format(i)
        end
        local text = '{"metadata":{"name":"n"},"items":[' .. table.concat(items, ",") .. "]}"
        local function seconds(parse_first)
            local object = assert(core.object(text))
            local sum, from = 0, os.clock()
            if parse_first then
                kubelua.json(object.items)
            end
            for _, item in kubelua.pairs(object.items) do
                kubelua.json(object.metadata)
                sum = sum + item.number
            end
            assert.equal(8002000, sum)
            return os.clock() - from
        end
        assert.is_true(seconds(false) < 20 * seconds(true) + 1)
    end)
end)
