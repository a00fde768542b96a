-- When a cache holds a write. The caches are made by hand, for states that no simulated server
-- produces.
local core = require "kubelua.core"
local writes_seen = require "kubelua.controller.writes_seen"
local writes = require "kubelua.controller.writes"

local SECRETS = { group = "", plural = "secrets", kind = "Secret", api_version = "v1",
    namespaced = true }

local function secret(version, more)
    local metadata = { name = "s", namespace = "web", uid = "u1", resourceVersion = version }
    for field, value in pairs(more or {}) do
        metadata[field] = value
    end
    return assert(core.object(core.encode { apiVersion = "v1", kind = "Secret",
        metadata = metadata }))
end

describe("a cache holds", function()
    local cache, source

    before_each(function()
        cache = { at = "10", lists = 1, lists_held = 1, state = "watching" }
        function cache.get(self) return self.object end
        function cache.resource_version(self) return self.at end
        function cache.status(self)
            return { lists = self.lists, lists_held = self.lists_held, state = self.state }
        end
        source = { name = "secrets", resource = "secrets", kind = SECRETS, informer = cache,
            given = { "secrets" }, request = {} }
    end)

    local function written(object, verb)
        local one = { source = source, key = "web/s", namespace = "web", uid = "u1", keys = {} }
        writes_seen.note(one, { verb = verb or "update", kind = SECRETS, namespace = "web",
            name = "s", object = object, uid = "u1" })
        return one
    end

    it("a version once its own is as high, compared as numbers, not as text", function()
        cache.at = "9"
        local one = written(secret("10"))
        assert.same({ false, false }, { writes_seen.look(one) })
        cache.at = "99"
        assert.same({ true, true }, { writes_seen.look(one) })
    end)

    it("a write when the versions went back, as after a restored backup", function()
        cache.at = "100"
        local one = written(secret("105"))
        assert.is_false((writes_seen.look(one)))
        cache.at = "40"
        assert.is_true((writes_seen.look(one)))
    end)

    it("a version that is not a number once it was seen at exactly that version", function()
        cache.at = "r-a"
        local one = written(secret("r-b"))
        cache.object = secret("r-c")
        cache.at = "r-c"
        assert.is_false((writes_seen.look(one)))
        cache.object = secret("r-b")
        assert.same({ true, true }, { writes_seen.look(one) })
        cache.object = secret("r-c")
        source.versions_seen = { has = function(_, uid, version)
            return uid == "u1" and version == "r-b"
        end }
        assert.is_true((writes_seen.look(one)))
    end)

    it("a version that is not a number after a list that began after the answer", function()
        cache.at = "r-a"
        local one = written(secret("r-b"))
        cache.state, cache.lists = "listing", 1
        local during = written(secret("r-b"))
        cache.lists, cache.lists_held = 2, 1
        assert.is_false((writes_seen.look(one)))
        cache.lists_held = 2
        assert.is_true((writes_seen.look(one)))
        assert.is_false((writes_seen.look(during))) -- that list may have begun before
        cache.lists_held = 3
        assert.is_true((writes_seen.look(during)))
    end)

    it("a delete when the object is gone, or terminating if there was an object", function()
        cache.object = secret("10")
        local gone, ending = written(nil, "delete"), written(secret("12"), "delete")
        local evicted = written(nil, "evict")
        assert.is_false((writes_seen.look(gone)))
        assert.is_false((writes_seen.look(ending)))
        cache.object = secret("12", { deletionTimestamp = "2026-01-01T00:00:00Z" })
        assert.is_false((writes_seen.look(gone)))
        assert.is_true((writes_seen.look(ending)))
        assert.is_true((writes_seen.look(evicted)))
        cache.object = secret("13", { uid = "u2" })
        assert.is_true((writes_seen.look(gone)))
    end)

    it("the write that removed the last finalizer when the object is gone", function()
        cache.object = secret("10", { deletionTimestamp = "2026-01-01T00:00:00Z",
            finalizers = { "example.com/x" } })
        local one = written(secret("10", { deletionTimestamp = "2026-01-01T00:00:00Z" }))
        assert.is_false((writes_seen.look(one)))
        cache.object = nil
        assert.is_true((writes_seen.look(one)))
        -- The spec (its finalizers) keeps a Namespace.
        cache.object = secret("10", { deletionTimestamp = "2026-01-01T00:00:00Z" })
        assert.is_true((writes_seen.look(one)))
    end)

    it("the later of two writes, whichever answer comes first", function()
        cache.at = "11"
        local one = written(secret("12"))
        writes_seen.note(one, { verb = "update", kind = SECRETS, object = secret("11") })
        assert.is_false((writes_seen.look(one)))
        cache.at = "12"
        assert.is_true((writes_seen.look(one)))
    end)

    it("an object outside of its selectors if it is not there, but not for good", function()
        source.given = { "secrets", labels = "app=shop" }
        source.request = source.given
        cache.object = secret("9", { labels = { app = "shop" } })
        local one = written(secret("12", { labels = { app = "db" } }))
        assert.is_false((writes_seen.look(one)))
        cache.object = nil
        assert.same({ true, false }, { writes_seen.look(one) })
        cache.object = secret("9", { labels = { app = "shop" } })
        assert.is_false((writes_seen.look(one)))
        cache.at, cache.object = "12", nil
        assert.same({ true, true }, { writes_seen.look(one) })
    end)

    it("an object that its field selector selects", function()
        local cache_of = require "kubelua.controller.cache_of"
        source.given = { "secrets", fields = "metadata.name=s,type!=Opaque,metadata.x=" }
        source.request = source.given
        assert.is_true(cache_of.selects(source, secret("1")))
        source.given.fields = "metadata.name!=s"
        assert.is_false(cache_of.selects(source, secret("1")))
        source.given.fields = "metadata.name==t"
        assert.is_false(cache_of.selects(source, secret("1")))
    end)
end)

describe("an event of a key's own object", function()
    local own, queued

    before_each(function()
        queued = {}
        own = writes.new({ add = function(_, key) queued[#queued + 1] = key end }).own
    end)

    it("is ignored if a run of the key wrote that version, once", function()
        own:begin("a")
        own:add("a", secret("7"))
        own:finish("a")
        assert.is_false(own:take("a", secret("6")))
        assert.is_true(own:take("a", secret("7")))
        assert.is_false(own:take("a", secret("7")))
        assert.is_false(own:take("b", secret("7")))
        assert.same({}, queued)
    end)

    it("is judged after the answer, if the event comes first", function()
        own:begin("a")
        assert.is_true(own:take("a", secret("7")))
        own:add("a", secret("7"))
        own:finish("a")
        assert.same({}, queued)
        own:begin("a")
        own:begin("a")
        assert.is_true(own:take("a", secret("8")))
        own:finish("a")
        assert.same({}, queued)
        own:finish("a")
        assert.same({ "a" }, queued)
    end)
end)
