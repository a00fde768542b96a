-- A member of a ring holds its Lease only while it can do its work: the others have its keys
-- otherwise.
local eventually = require "eventually"
local kubelua = require "kubelua"
local leader = require "kubelua.leader"
local ring_world = require "ring_world"
local Teller = require "kubelua.leader.teller"

local count, owners_of = ring_world.count, ring_world.owners_of
local w, start, until_true, until_shared

before_each(function()
    w, start, until_true, until_shared = ring_world.open()
end)

after_each(function()
    ring_world.close(w)
end)

-- The identities in the Leases of members.
local function holders()
    local found = {}
    for _, lease in ipairs(w.client:list("leases", { namespace = "default" })) do
        if lease.spec and lease.spec.holderIdentity and lease.spec.holderIdentity ~= "" then
            found[#found + 1] = lease.spec.holderIdentity
        end
    end
    table.sort(found)
    return found
end

local function break_secrets()
    w.cluster:fail { verb = "list", resource = "secrets", status = 403, count = 0 }
    w.cluster:fail { verb = "watch", resource = "secrets", status = 403, count = 0 }
    w.cluster:fault { action = "cut", verb = "watch", resource = "secrets", count = 0 }
end

local function has_all(member)
    return member:status().shards.parts == 256
end

local function parts_shown(member)
    return tonumber(kubelua.metric.text():match('kubelua_ring_parts{ring="default/spec",member="'
        .. member .. '"} (%d+)'))
end

describe("a member of a ring", function()
    it("holds no Lease before its sources are listed, and says why", function()
        for i = 1, 20 do
            w:apply("key-" .. i)
        end
        w.cluster:fail { verb = "list", resource = "secrets", status = 403, count = 0 }
        w.cluster:fail { verb = "watch", resource = "secrets", status = 403, count = 0 }
        local one = start("one", { reads = { "secrets" } })
        local two = start("two")
        until_shared(two)
        until_true(function()
            return w:count_logged("one works on nothing: secrets cannot be listed or watched") == 1
        end, "it says why")
        assert.same({ "two" }, holders())
        assert.equal(20, count(owners_of(w:noted(20)), "two"))
        local shards = one:status().shards
        assert.equal("forbidden", shards.code)
        assert.is_truthy(shards.problem:find("secrets cannot be listed", 1, true))
        w.cluster:heal()
        until_shared(one, two)
        assert.same({ "one", "two" }, holders())
    end)

    it("lets go of its Lease when a source fails for `lease` seconds", function()
        local one, two = start("one", { reads = { "secrets" } }), start("two")
        until_shared(one, two)
        assert.equal(one:status().shards.parts, parts_shown("one"))
        break_secrets()
        local broken_at = w.cluster:now()
        until_true(function() return has_all(two) end, "two has all")
        assert.is_true(w.cluster:now() - broken_at >= 15)
        assert.same({ "two" }, holders())
        assert.equal("standby", one:status().state)
        assert.equal(0, parts_shown("one"))
        assert.equal(1, w:count_logged("one is no member any more: secrets cannot be listed or "
            .. "watched: "), table.concat(w.lines, "\n"))
        w.cluster:heal()
        until_shared(one, two)
    end)

    it("keeps its Lease while a source fails for a short time", function()
        local one, two = start("one", { reads = { "secrets" } }), start("two")
        until_shared(one, two)
        break_secrets()
        eventually(function() return one:status().sources[2].error end, "it fails")
        w.cluster:heal()
        w.cluster:advance(5) -- its backoff is over
        eventually(function() return not one:status().sources[2].error end, "it is well again")
        for _ = 1, 20 do
            w.cluster:advance(0.5)
            w.cluster:settle(0.05)
        end
        assert.equal(0, w:count_logged("is no member any more"), table.concat(w.lines, "\n"))
        assert.same({ "one", "two" }, holders())
    end)

    it("lets its runs end before it lets go, and cancels those that take long", function()
        for i = 1, 20 do
            w:apply("key-" .. i)
        end
        local ended = 0
        local one = start("one", { reads = { "secrets" }, workers = 20, reconcile = function()
            local ok = pcall(kubelua.sleep, 1000)
            ended = ended + (ok and 0 or 1)
            assert(ok, "cancelled")
        end })
        until_shared(one)
        w:noted(20)
        local two = start("two", { reconcile = function() assert.equal(20, ended) end })
        break_secrets()
        until_true(function() return has_all(two) end, "two has all")
        assert.equal(20, count(owners_of(w:noted(20)), "two"))
        assert.equal(20, ended)
    end)

    it("works on for a controller whose sources work, beside one whose do not", function()
        for i = 1, 5 do
            w:apply("key-" .. i)
        end
        local one = start("one")
        until_shared(one)
        w:noted(5)
        w.cluster:fail { verb = "list", resource = "secrets", status = 403, count = 0 }
        w.cluster:fail { verb = "watch", resource = "secrets", status = 403, count = 0 }
        local also = start("one", { "secrets" })
        until_true(function()
            return also:status().sources[1].code == "forbidden"
        end, "the other one cannot list")
        for _ = 1, 50 do
            w.cluster:advance(0.5)
            w.cluster:settle(0.05)
        end
        assert.is_true(has_all(one))
        w:apply("key-1", "2")
        assert.same({ "one web/key-1" }, w:noted(1))
    end)

    it("opens its watch of the Leases anew when it has been silent for `lease` seconds", function()
        local one = start("one")
        until_shared(one)
        w.cluster:freeze { verb = "watch", resource = "leases", count = 1 }
        local two = start("two")
        until_shared(one, two)
        assert.is_true(has_all(one) == false)
    end)

    it("lets go of its Lease when its watch of the Leases stays silent", function()
        local one = start("one")
        until_shared(one)
        local lease
        for _, each in ipairs(w.client:list("leases", { namespace = "default" })) do
            lease = each.spec.holderIdentity == "one" and each or lease
        end
        w.cluster:fail { verb = "list", resource = "leases", status = 500, count = 0 }
        w.cluster:freeze { verb = "watch", resource = "leases", count = 1 }
        w.cluster:fail { verb = "watch", resource = "leases", status = 500, count = 0 }
        until_true(function() return one:status().state == "standby" end, "it stops")
        until_true(function()
            return w.client:get("leases", lease.key).spec.holderIdentity == ""
        end, "it renounces")
        assert.equal(1, w:count_logged("one is no member any more: the watch of its Leases has "
            .. "been silent for 15 s"), table.concat(w.lines, "\n"))
        w.cluster:heal()
        until_shared(one)
    end)

    it("counts a Lease without a holder as held until it would have run out", function()
        local one = start("one")
        until_shared(one)
        assert(w.client:create { apiVersion = "coordination.k8s.io/v1", kind = "Lease",
            metadata = { name = "spec-odd", namespace = "default",
                labels = { ["kubelua.dev/ring"] = "spec" } } })
        local begun = w.cluster:now()
        until_true(function() return one:status().shards.parts == 0 end, "all rests")
        until_true(function() return has_all(one) end, "it goes on")
        assert.is_true(w.cluster:now() - begun >= 15)
        assert.equal(1, w:count_logged("the Lease spec%-odd cannot be read, or has no holder"))
    end)

    it("names the rights that its watch lacks", function()
        w.cluster:fail { verb = "list", resource = "leases", status = 403, count = 0 }
        w.cluster:fail { verb = "watch", resource = "leases", status = 403, count = 0 }
        local one = start("one")
        local rights = "a ring needs the verbs get, list, watch, create, update and delete on "
            .. "leases of the group coordination.k8s.io in the namespace default"
        until_true(function()
            local problem = one:status().shards.problem
            return problem and problem:find(rights, 1, true) and w:count_logged(rights) == 1
        end, "it says so")
        w.cluster:heal()
        assert.same({}, holders())
    end)

    it("does not release a Lease before cancelled work has ended", function()
        local is_wanted, is_busy = true, true
        local options = leader.options { name = "busy", namespace = "default", identity = "one" }
        local held = w:under_clock(leader.hold, w.client, options, {
            teller = function(all)
                return Teller.new(all, "spec", { gained = "%s has it", lost = "%s lost it: %s",
                    left = "%s left", holder = "%s has it, not %s", refused = "%s" })
            end,
            wants = function() return is_wanted, "it is enough" end,
        })
        held.while_busy(function() return is_busy end)
        until_true(held.is_leader, "it holds the Lease")
        is_wanted = false
        held.hurry()
        until_true(function() return not held.is_leader() end, "it has given up")
        assert.equal(1, w:count_logged("one lost it: it is enough"))
        for _ = 1, 5 do
            w.cluster:advance(0.5)
            w.cluster:settle(0.05)
        end
        assert.same({ "one" }, holders())
        is_busy = false
        until_true(function() return #holders() == 0 end, "it is released")
        is_wanted = true
        held.hurry()
        until_true(held.is_leader, "it holds the Lease again")
        held.release()
        until_true(function() return #holders() == 0 end, "it is released")
    end)
end)
