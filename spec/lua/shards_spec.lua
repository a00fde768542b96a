-- Controllers that share out their keys: each key is worked on by one member of the ring, and
-- handed over when members come and go.
local kubelua = require "kubelua"
local ring_world = require "ring_world"

local count, owners_of = ring_world.count, ring_world.owners_of
local w, start, until_true, until_shared

before_each(function()
    w, start, until_true, until_shared = ring_world.open()
end)

after_each(function()
    ring_world.close(w)
end)

describe("a controller with shards", function()
    it("works on all keys while it is alone", function()
        w:apply("a")
        w:apply("b")
        local one = start("one")
        until_shared(one)
        local owners = owners_of(w:noted(2))
        assert.same({ ["web/a"] = "one", ["web/b"] = "one" }, owners)
        assert.is_true(one:has_synced())
        assert.equal("running", one:status().state)
    end)

    it("shares out the keys with others, and each key has one member", function()
        for i = 1, 60 do
            w:apply("key-" .. i)
        end
        local one, two, three = start("one"), start("two"), start("three")
        until_shared(one, two, three)
        w.runs = {}
        for i = 1, 60 do
            w:apply("key-" .. i, "2")
        end
        local owners = owners_of(w:noted(60))
        for _, member in ipairs { "one", "two", "three" } do
            assert.is_true(count(owners, member) > 5, member .. " has " .. count(owners, member))
        end
        assert.equal(60, count(owners, "one") + count(owners, "two") + count(owners, "three"))
    end)

    -- Starts a member whose runs of 20 keys go on until `go_on()`, then a second one, which waits
    -- for its share. Nothing of the second is noted yet.
    local function start_handing_over()
        local goes_on = false
        for i = 1, 20 do
            w:apply("key-" .. i)
        end
        local one = start("one", { workers = 20, reconcile = function()
            while not goes_on do
                kubelua.sleep(0.5)
            end
        end })
        until_shared(one)
        w:noted(20)
        local two = start("two")
        until_true(function()
            return two:status().shards.working and one:status().shards.parts < 256
        end, "one holds back what it announces")
        for _ = 1, 8 do
            w.cluster:advance(0.5)
            w.cluster:settle(0.05)
        end
        assert.equal(0, two:status().shards.parts)
        assert.same({}, w.runs)
        return one, two, function() goes_on = true end
    end

    it("hands a key over only when its run has ended", function()
        local one, two, go_on = start_handing_over()
        go_on()
        until_shared(one, two)
        local owners = owners_of(w:noted(5))
        assert.equal(0, count(owners, "one"))
    end)

    it("cancels a run that holds up the others", function()
        local one, two = start_handing_over()
        until_shared(one, two)
        assert.is_true(count(owners_of(w:noted(5)), "two") >= 5)
    end)

    it("has its keys taken over when it cannot renew its Lease, and writes nothing more", function()
        for i = 1, 20 do
            w:apply("key-" .. i)
        end
        local results = {}
        local one, two = start("one", { reconcile = function(object, run)
            run.log("info", "begins") -- so that the run is one's
            local ok, sent, message, code = pcall(run.patch, run, { data = { by = "one" } })
            results[#results + 1] = ok and (sent and "sent" or code) or message
            return 1 -- again and again
        end }), start("two")
        until_shared(one, two)
        local lease = w.client:list("leases", { namespace = "default" })
        local name
        for _, each in ipairs(lease) do
            name = each.spec.holderIdentity == "one" and each.name or name
        end
        w.cluster:fail { verb = "update", resource = "leases", name = name, status = 500,
            count = 0 }
        -- two deletes the Lease once it has run out, and then one could make it again
        w.cluster:fail { verb = "create", resource = "leases", status = 500, count = 0 }
        until_true(function() return one:status().state == "standby" end, "one has stopped")
        w.runs = {}
        until_true(function() return two:status().shards.parts == 256 end, "two has all")
        assert.equal(1, w:count_logged("one is no member any more: the Lease was not renewed"),
            table.concat(w.lines, "\n"))
        assert.equal(0, one:status().shards.parts)
        w.cluster:heal()
        until_shared(one, two)
    end)

    it("has synced once it has reconciled every key of its first share", function()
        for i = 1, 30 do
            w:apply("key-" .. i)
        end
        local one = start("one")
        until_shared(one)
        w:noted(30)
        local two = start("two", { workers = 1, reconcile = function() kubelua.sleep(0.2) end })
        assert.is_false(two:has_synced())
        until_true(function() return two:has_synced() end, "two has synced")
        local share = #w.runs
        assert.is_true(share > 5 and share < 25)
        assert.equal(share, count(owners_of(w.runs), "two"))
        until_shared(one, two)
        w.cluster:advance(5)
        assert(w.cluster:settle(5))
        assert.equal(share, #w.runs)
    end)

    it("forgets the failures of keys that are another member's by now", function()
        for i = 1, 20 do
            w:apply("key-" .. i)
        end
        local one = start("one", { reconcile = function() error("it does not work", 0) end })
        until_true(function() return #one:status().failures == 20 end, "all fail")
        local two = start("two")
        until_shared(one, two)
        until_true(function()
            return #one:status().failures < 16 and #one:status().failures > 4
        end, function() return #one:status().failures .. " failures are left" end)
    end)

    it("leaves at its end, and the others need not wait for its Lease to run out", function()
        w:apply("a")
        local one, two = start("one"), start("two")
        until_shared(one, two)
        w.runs = {}
        local before = w.cluster:now()
        one:stop()
        until_shared(two)
        assert.is_true(w.cluster:now() - before < 10)
        until_true(function() -- its Lease, and its name in the ring's, are removed
            return #w.client:list("leases", { namespace = "default" }) == 2
                and not w.client:get("leases", "default/spec").metadata.annotations
                    ["kubelua.dev/members"]:find(",", 1, true)
        end, "what was left is removed")
    end)

    it("shares out by namespace", function()
        for i = 1, 12 do
            for _, name in ipairs { "a", "b", "c" } do
                assert(w.cluster:apply { apiVersion = "v1", kind = "ConfigMap", metadata = {
                    namespace = "space-" .. i, name = name } })
            end
        end
        local by = { by = "namespace" }
        local one, two = start("one", { shards = by }), start("two", { shards = { by = by.by } })
        until_shared(one, two)
        w.runs = {}
        for i = 1, 12 do
            for _, name in ipairs { "a", "b", "c" } do
                assert(w.cluster:apply { apiVersion = "v1", kind = "ConfigMap", data = { x = "1" },
                    metadata = { namespace = "space-" .. i, name = name } })
            end
        end
        local owners = owners_of(w:noted(36))
        for i = 1, 12 do
            local owner = owners["space-" .. i .. "/a"]
            assert.equal(owner, owners["space-" .. i .. "/b"])
            assert.equal(owner, owners["space-" .. i .. "/c"])
        end
        assert.is_true(count(owners, "one") > 0 and count(owners, "two") > 0)
    end)

    it("shares out by what a function returns; a wrong one is named", function()
        local function by(object)
            return object.name ~= "odd" and object.data.value or nil
        end
        for i = 1, 8 do
            w:apply("x" .. i, "team-" .. i % 2)
        end
        w:apply("odd")
        local one, two = start("one", { shards = { by = by } }),
            start("two", { shards = { by = by } })
        until_shared(one, two)
        assert.equal("function", one:status().shards.by:match("^%a+"))
        assert.is_true(w:count_logged("must return a text for each object") >= 1)
    end)

    it("works on nothing while an older member shares out otherwise", function()
        w:apply("a")
        local one = start("one")
        until_shared(one)
        assert.same({ "one web/a" }, w:noted())
        local two = start("two", { shards = { by = "uid" } })
        until_true(function() return two:status().shards.stands_by_for == "one" end,
            "two stands by")
        assert.equal("standby", two:status().state)
        assert.equal(1, w:count_logged("one shares out by key, and this process by uid"))
        w:apply("a", "2")
        assert.same({ "one web/a" }, w:noted())
        one:stop()
        until_shared(two)
        assert.same({ "two web/a" }, w:noted())
    end)

    it("works on nothing with the identity of another member", function()
        w:apply("a")
        local one = start("one")
        until_shared(one)
        local lease = w.client:list("leases", { namespace = "default" })
        for _, each in ipairs(lease) do -- as another process of that identity would
            if each.spec.holderIdentity == "one" then
                assert(w.client:patch(each, { spec = {
                    renewTime = "2026-01-01T00:00:01.000009Z" } }))
            end
        end
        until_true(function() return one:status().state == "standby" end, "one has stopped")
        until_true(function()
            return w:count_logged("holds the Lease with the identity of this process, one") == 1
        end, "it says why")
    end)

    it("makes its Lease again if it is deleted, and that of the ring", function()
        w:apply("a")
        local one, two = start("one"), start("two")
        until_shared(one, two)
        for _, each in ipairs(w.client:list("leases", { namespace = "default" })) do
            assert(w.client:delete(each))
        end
        until_true(function() return #w.client:list("leases", { namespace = "default" }) == 3 end,
            "all three are there")
        until_shared(one, two)
        assert.equal(1, w:count_logged("of one was deleted; it is made again"))
    end)

    it("follows an owned object to the member of its owner", function()
        local one = start("one", { owns = { "secrets" } })
        local two = start("two", { owns = { "secrets" } })
        until_shared(one, two)
        w:apply("a") -- now, so that no key is handed over between the runs that count
        w:apply("b")
        local owners = owners_of(w:noted(2))
        w.runs = {}
        for _, name in ipairs { "a", "b" } do
            local owner = w.client:get("configmaps", "web/" .. name)
            assert(w.client:create { apiVersion = "v1", kind = "Secret", metadata = {
                namespace = "web", name = "of-" .. name, ownerReferences = { {
                    apiVersion = "v1", kind = "ConfigMap", name = name, uid = owner.uid,
                    controller = true } } } })
        end
        assert.same(owners, owners_of(w:noted(2)))
    end)

    it("has keys without a resource", function()
        w:apply("a")
        w:apply("b")
        local function options()
            return { keyless = true, watches = { { "configmaps", map = function(object)
                return { "zone-" .. object.name }
            end } } }
        end
        local one, two = start("one", options()), start("two", options())
        until_shared(one, two)
        until_true(function()
            local seen = {}
            for _, note in ipairs(w.runs) do
                seen[note:match("%S+$")] = true
            end
            return seen["zone-a"] and seen["zone-b"]
        end, "both keys are run")
    end)

    it("goes on in a process when the controller ends whose client watched the ring", function()
        w:apply("a")
        local one, two = start("one"), start("two")
        local also = start("one", { "secrets" })
        until_shared(one, two)
        local parts = also:status().shards.parts
        assert.equal(one:status().shards.parts, parts)
        one:stop()
        local three = start("three")
        until_true(function()
            local members = also:status().shards.members
            return #members == 3 and also:status().shards.parts < parts
                and three:status().shards.parts > 0
        end, "also has seen three")
        assert.equal("running", also:status().state)
    end)

    it("says in its status why it stands by", function()
        w.cluster:fail { verb = "list", resource = "leases", status = 403, count = 0 }
        w.cluster:fail { verb = "watch", resource = "leases", status = 403, count = 0 }
        local one = start("one")
        until_true(function() -- it is "starting" until its own caches have synced
            local status = one:status()
            return status.state == "standby" and status.shards.code == "forbidden"
        end, "it says so")
        assert.is_truthy(one:status().shards.problem:find("403", 1, true))
    end)

    it("raises for wrong options at once", function()
        for problem, shards in pairs {
            ["there is no option 'bye'"] = { name = "x", bye = "uid" },
            ["the name of a Lease expected, such as shards = \"foo-controller\""] = {},
            ["'a.b' cannot be the name of a ring"] = "a.b",
            ["'by' must be \"namespace\", \"uid\", \"key\" or a function"] = { name = "x",
                by = "name" },
            ["seconds with 0 < retry < renew < lease"] = { name = "x", lease = 3 },
        } do
            local ok, said = pcall(kubelua.controller, { "configmaps", client = w.client,
                reconcile = print, shards = shards })
            assert.is_false(ok)
            assert.is_truthy(said:find(problem, 1, true), said)
        end
        local ok, said = pcall(kubelua.controller, { "configmaps", client = w.client,
            reconcile = print, shards = "x", leader = "x" })
        assert.is_false(ok)
        assert.is_truthy(said:find("exclude each other", 1, true), said)
    end)
end)
