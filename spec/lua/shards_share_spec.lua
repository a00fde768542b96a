-- Controllers with shards whose caches hold only the share of their member.
local eventually = require "eventually"
local ring_world = require "ring_world"

local count, owners_of = ring_world.count, ring_world.owners_of
local w, start, until_true, until_shared

local KEYS = 40

before_each(function()
    w, start, until_true, until_shared = ring_world.open()
    for i = 1, KEYS do
        w.cluster:apply(w.configmap("key-" .. i, "1", { namespace = "team-" .. i % 8 }))
    end
end)

after_each(function()
    ring_world.close(w)
end)

local function apply_all(value)
    for i = 1, KEYS do
        assert(w.cluster:apply(w.configmap("key-" .. i, value, { namespace = "team-" .. i % 8 })))
    end
end

-- Starts a member with caches of its share. Each of its runs applies a Secret of the object.
local function start_member(identity, by, more)
    local options = { shards = { by = by, caches = "share" }, owns = { "secrets" },
        gone = function(key) w:note("gone " .. key) end,
        reconcile = function(object, run)
            assert(run:get("configmaps", object.key))
            assert(run:apply { apiVersion = "v1", kind = "Secret",
                metadata = { name = object.name }, stringData = { value = object.data.value } })
        end }
    for name, value in pairs(more or {}) do
        options[name] = value
    end
    return start(identity, options)
end

-- How many objects of a resource a member caches.
local function cached(member, resource)
    for _, source in ipairs(member:status().sources) do
        if source.name == resource then
            return source.objects
        end
    end
end

for _, by in ipairs { "uid", "key", "namespace" } do
    describe("members that share out by " .. by, function()
        it("cache what they work on, with what it owns, and hand it over", function()
            local one = start_member("one", by)
            until_shared(one)
            w:noted(KEYS)
            w:rest(one)
            assert.equal(KEYS, cached(one, "configmaps"))
            assert.equal(KEYS, cached(one, "secrets"))
            local two = start_member("two", by)
            until_shared(one, two)
            until_true(function()
                return cached(one, "configmaps") + cached(two, "configmaps") == KEYS
                    and cached(one, "secrets") + cached(two, "secrets") == KEYS
            end, "each object is cached by one of them")
            assert.is_true(cached(one, "configmaps") > 0 and cached(two, "configmaps") > 0)
            w:rest(one)
            w:rest(two)
            w.runs = {}
            apply_all("2")
            w:rest(one)
            w:rest(two)
            local owners = owners_of(w.runs)
            assert.equal(cached(one, "configmaps"), count(owners, "one"))
            assert.equal(cached(two, "configmaps"), count(owners, "two"))
            two:stop()
            until_shared(one)
            until_true(function() return cached(one, "configmaps") == KEYS end, "one has all")
            w:rest(one)
            w.runs = {}
            apply_all("3")
            w:rest(one)
            assert.equal(KEYS, count(owners_of(w.runs), "one"))
            assert.equal(KEYS, cached(one, "secrets"))
        end)
    end)
end

describe("a member whose caches hold its share", function()
    it("reconciles the owner when a child changes, and calls gone for what was deleted only",
        function()
            local one, two = start_member("one", "uid"), start_member("two", "uid")
            until_shared(one, two)
            until_true(function() return one:has_synced() and two:has_synced() end, "both rest")
            w:rest(one)
            w:rest(two)
            w.runs = {}
            assert(w.cluster:delete("secrets", "team-1/key-1"))
            eventually(function() return w.client:get("secrets", "team-1/key-1") end, "made again")
            assert(w.cluster:delete("configmaps", "team-1/key-1"))
            w:until_noted("gone team-1/key-1")
            for _, note in ipairs(w.runs) do
                assert.is_nil(note:find("^gone"), note)
            end
        end)

    it("is refused with a function", function()
        local ok, problem = pcall(start_member, "one", function() return "all" end)
        assert.is_false(ok)
        assert.is_truthy(problem:find("needs by =", 1, true), problem)
    end)
end)
