-- Objects that rest compressed: what a script reads of them is what the server has.
local kubelua = require "kubelua"
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
