-- Which objects are of a share is decided twice: by the informer in C, and by Share:has in Lua, for
-- an object that comes from elsewhere. Both are held together over random owners and parts.
local kubelua = require "kubelua"
local parts_of = require "kubelua.shards.parts"
local Share = require "kubelua.controller.share"
local Sim = require "kubelua.sim"

local NAMES = { uid = true, key = true, namespace = true, owner_uid = true, owner_key = true,
    owner_name = true }
local COUNT = 60

describe("a share", function()
    local cluster, client

    setup(function()
        math.randomseed(7)
        cluster = assert(Sim.new { no_controllers = true })
        client = assert(kubelua.connect { sim = cluster })
        for i = 1, COUNT do
            local owners = {}
            for j = 1, math.random(0, 3) do
                owners[j] = { apiVersion = "v1", kind = "Node", name = "n" .. math.random(20),
                    uid = ("%08x-0000-4000-8000-000000000000"):format(math.random(0, 2 ^ 31)) }
            end
            assert(cluster:apply { apiVersion = "v1", kind = "ConfigMap", metadata = {
                name = "c" .. i, namespace = "ns" .. math.random(9),
                ownerReferences = owners[1] and owners } })
        end
    end)

    teardown(function()
        client:close()
        cluster:close()
    end)

    local function draw_parts()
        local parts = {}
        for part = 1, parts_of.COUNT do
            parts[part] = math.random(3) == 1 or nil
        end
        return parts
    end

    for by in pairs(NAMES) do
        it("has the objects that the cache has, by " .. by, function()
            local all = assert(client:informer { "configmaps", namespace = "*" })
            assert(all:wait_synced(10))
            for _ = 1, 5 do
                local parts = draw_parts()
                local share = Share.new({ in_order = {} }, { caches = "share" }, function() end)
                share.wanted = parts
                local some = assert(client:informer { "configmaps", namespace = "*",
                    shard = parts_of.shard(parts), shard_by = by })
                assert(some:wait_synced(10))
                local held = 0
                for _, object in ipairs(all:list()) do
                    local is_held = some:get(object.key) ~= nil
                    assert.equal(is_held, share:has({ share_by = by }, object), object.key)
                    held = held + (is_held and 1 or 0)
                end
                assert.is_true(held > 0 and held < #all:list(), by .. " tells nothing")
                some:stop()
            end
            all:stop()
        end)
    end
end)
