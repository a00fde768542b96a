-- Informers of one of several shards. The simulator does not know the parameter shardSelector, as
-- servers before Kubernetes 1.36 do not: so this also shows that objects of other shards are
-- dropped.
local core = require "kubelua.core"
local eventually = require "eventually"
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"

local cluster

before_each(function()
    cluster = assert(Sim.new { no_controllers = true })
    for i = 1, 40 do
        assert(cluster:apply { apiVersion = "v1", kind = "ConfigMap",
            metadata = { namespace = "web", name = "a" .. i } })
    end
end)

after_each(function()
    cluster:close()
end)

-- Opens an informer of each of four shards.
local function open_shards(options)
    local informers = {}
    for i = 1, 4 do
        local given = { "configmaps", shard = (i - 1) .. "/4" }
        for name, value in pairs(options or {}) do
            given[name] = value
        end
        informers[i] = assert(assert(cluster:connect()):informer(given))
    end
    for _, informer in ipairs(informers) do
        assert(informer:wait_synced(10))
    end
    return informers
end

local function count_all(informers)
    local count = 0
    for _, informer in ipairs(informers) do
        count = count + informer:count()
    end
    return count
end

describe("an informer of a shard", function()
    it("holds its part of the objects, and the shards together hold each once", function()
        for _, options in ipairs { {}, { streaming_list = false, page_size = 7 },
            { metadata = true }, { drop = "data" } } do
            local informers, seen = open_shards(options), {}
            assert.equal(40, count_all(informers))
            for _, informer in ipairs(informers) do
                assert.is_true(informer:count() > 0)
                for _, object in ipairs(informer:list()) do
                    assert.is_nil(seen[object.key])
                    seen[object.key] = true
                end
                informer:stop()
            end
        end
    end)

    it("holds several parts together", function()
        local informers, client = open_shards(), assert(cluster:connect())
        local several = assert(client:informer { "configmaps", shard = "3/4,0/4,2/4" })
        assert(several:wait_synced(10))
        assert.equal(40 - informers[2]:count(), several:count())
        for _, object in ipairs(several:list()) do
            assert.is_nil(informers[2]:get(object.key))
        end
    end)

    it("gets the events of its objects, and no others", function()
        local informers, told = open_shards(), {}
        for i, informer in ipairs(informers) do
            assert(informer:on { update = function(_, new) told[new.key] = i end })
        end
        for i = 1, 40 do
            assert(cluster:apply { apiVersion = "v1", kind = "ConfigMap", data = { x = "1" },
                metadata = { namespace = "web", name = "a" .. i } })
        end
        eventually(function()
            local count = 0
            for key, i in pairs(told) do
                assert.is_truthy(informers[i]:get(key))
                count = count + 1
            end
            return count == 40
        end, "each update is told")
    end)

    it("hands an object that is made again to the shard of its new UID", function()
        local informers = open_shards()
        for _ = 1, 10 do
            assert(cluster:delete("configmaps", "web/a1"))
            local made = assert(cluster:apply { apiVersion = "v1", kind = "ConfigMap",
                metadata = { namespace = "web", name = "a1" } })
            eventually(function()
                local holders, is_new = 0, false
                for _, informer in ipairs(informers) do
                    local object = informer:get("web/a1")
                    holders = holders + (object and 1 or 0)
                    is_new = is_new or (object ~= nil and object.uid == made.metadata.uid)
                end
                return holders == 1 and is_new
            end, "one shard has the new object")
        end
    end)

    it("takes in another shard, and lets the one before go", function()
        local client, told = assert(cluster:connect()), {}
        local all = assert(client:informer { "configmaps" })
        local one = assert(client:informer { "configmaps", shard = "0/2", ring = "shop" })
        assert(one:on {
            add = function(object) told[object.key] = "add" end,
            delete = function(object, why) told[object.key] = why end,
        })
        assert(all:wait_synced(10))
        assert(one:wait_synced(10))
        assert.is_true(one:holds_shard())
        local before = one:list()
        assert(one:set_shard("1/2"))
        eventually(function() return one:holds_shard() end, "the other shard is there")
        assert.equal(all:count(), one:count() + #before)
        eventually(function()
            local count = 0
            for key, what in pairs(told) do
                count = count + (what == (one:get(key) and "add" or "left") and 1 or 0)
            end
            return count == all:count()
        end, "each object has come, or left")
        assert.is_truthy(select(2, all:set_shard("0/2")):find("ring", 1, true))
        assert.equal("invalid_argument", select(3, one:set_shard("2/2")))
    end)

    it("is of what shard_by says, or of an owner that may change", function()
        local client = assert(cluster:connect())
        local function set_owner(name, uid)
            assert(cluster:apply { apiVersion = "v1", kind = "ConfigMap", data = { uid = uid },
                metadata = { namespace = "web", name = name, ownerReferences = {
                    { apiVersion = "v1", kind = "Secret", name = "s" .. uid, uid = uid } } } })
        end
        local here, there = "1", "1"
        while core.shard_part_of_uid(here) > 128 do here = here .. "1" end
        while core.shard_part_of_uid(there) <= 128 do there = there .. "1" end
        for i = 1, 40 do
            set_owner("a" .. i, i % 2 == 0 and here or there)
        end
        local informers, told = {}, {}
        for i, by in ipairs { "owner_uid", "key", "namespace", "owner_key", "owner_name" } do
            informers[i] = assert(client:informer { "configmaps", shard = "0/2", shard_by = by })
            assert(informers[i]:wait_synced(10))
            for _, object in ipairs(informers[i]:list()) do
                local part = by == "owner_uid" and core.shard_part_of_uid(object.data.uid)
                    or core.shard_part(by == "key" and object.key or by == "namespace" and "web"
                        or (by == "owner_key" and "web/s" or "s") .. object.data.uid)
                assert.is_true(part <= 128, by)
            end
        end
        assert.equal(20, informers[1]:count())
        assert.is_true(informers[2]:count() > 0 and informers[2]:count() < 40)
        assert.equal(core.shard_part("web") <= 128 and 40 or 0, informers[3]:count())
        assert(informers[1]:on { delete = function(object) told[object.key] = object.data.uid end })
        set_owner("a1", there)
        set_owner("a2", there)
        eventually(function() return told["web/a2"] == here end, "a2 is another owner's")
        set_owner("a2", here)
        eventually(function() return informers[1]:get("web/a2") end, "a2 is back")
        local ok, problem = pcall(client.informer, client, { "configmaps", shard_by = "name" })
        assert.is_false(ok)
        assert.is_truthy(problem:find("owner_name", 1, true))
    end)

    it("asks for nothing of a namespace that is not of it", function()
        local client = assert(cluster:connect())
        local is_first = core.shard_part("web") <= 128
        local here, there = is_first and "0/2" or "1/2", is_first and "1/2" or "0/2"
        local other = assert(client:informer { "configmaps", namespace = "web", shard = there,
            shard_by = "namespace", ring = "shop" })
        assert(other:wait_synced(10))
        assert.equal(0, other:count())
        assert.equal(0, other:status().watches)
        assert.is_true(other:holds_shard())
        assert(other:set_shard(here))
        eventually(function() return other:holds_shard() end, "the namespace is taken")
        assert.equal(40, other:count())
        assert(other:set_shard(there))
        eventually(function() return other:holds_shard() end, "the namespace is given away")
        assert.equal(0, other:count())
        assert.equal(1, other:status().watches)
    end)

    it("refuses a text that names none", function()
        local ok, problem = pcall(kubelua.controller, { "configmaps", shard = "4/4",
            client = assert(cluster:connect()), reconcile = print })
        assert.is_false(ok)
        assert.is_truthy(problem:find("shard", 1, true), problem)
        local informer, message, code = cluster:connect():informer { "configmaps", shard = "4/4" }
        assert.is_nil(informer)
        assert.equal("invalid_argument", code)
        assert.is_truthy(message:find('write "0/4" for the first of four', 1, true), message)
    end)
end)
