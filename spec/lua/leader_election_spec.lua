-- The election for a Lease as a state machine: times and answers go in, orders come out; also
-- failures, and writes without an answer.
local rig = require "electors"

local elector, lease_of, held_by = rig.elector, rig.lease_of, rig.held_by
local stored, expect, leading = rig.stored, rig.expect, rig.leading
local world = rig.World

describe("an election", function()
    it("creates a Lease that does not exist, and leads", function()
        local election = elector()
        election:answer(expect(election, 100, "read"), 100, nil, "", "not_found")
        local order = expect(election, 100, "create")
        assert.same({ holderIdentity = "me", leaseDurationSeconds = 15, leaseTransitions = 0,
            acquireTime = "2026-01-01T00:01:40.000000Z", renewTime = "2026-01-01T00:01:40.000000Z",
        }, order.lease.spec)
        assert.is_false(election.leading)
        election:answer(order, 100.5, stored(order, "1"))
        assert.is_true(election.leading)
        assert.equal(1, election.term)
        assert.equal(102, expect(election, 100.5, "wait").at)
    end)

    it("renews by the version it knows, and keeps acquireTime and transitions", function()
        local election = leading(0)
        local order = expect(election, 2, "update")
        assert.equal("1", order.lease.metadata.resourceVersion)
        assert.equal("2026-01-01T00:00:00.000000Z", order.lease.spec.acquireTime)
        assert.equal("2026-01-01T00:00:02.000000Z", order.lease.spec.renewTime)
        assert.equal(0, order.lease.spec.leaseTransitions)
        election:answer(order, 2.1, stored(order, "2"))
        assert.equal(2, election.renewed_at)
    end)

    it("keeps what others have written into the Lease", function()
        local election = leading(0)
        election.object.metadata.labels = { a = "b" }
        election.object.spec.strategy = "x"
        local order = expect(election, 2, "update")
        assert.equal("b", order.lease.metadata.labels.a)
        assert.equal("x", order.lease.spec.strategy)
    end)

    it("counts from when a renewal was sent, not from its answer", function()
        local election = leading(0)
        local order = expect(election, 2, "update")
        election:answer(order, 6, stored(order, "2"))
        assert.is_true(election:check(11.9))
        assert.is_false(election:check(12))
        assert.matches("^the Lease was not renewed for 10 seconds", election.lost)
    end)

    it("does not lead by a renewal that took longer than `renew`", function()
        local election = elector()
        election:answer(expect(election, 0, "read"), 0, nil, "", "not_found")
        local order = expect(election, 0, "create")
        election:answer(order, 60, stored(order, "1")) -- the process was suspended
        assert.is_false(election.leading)
        order = expect(election, 60, "update")
        election:answer(order, 60.1, stored(order, "2"))
        assert.is_true(election.leading)
    end)

    it("waits while another renews, and takes over when the record stays the same", function()
        local election = elector()
        election:answer(expect(election, 0, "read"), 0, held_by("you", "1"))
        local order = expect(election, 0, "wait")
        assert.equal(2, order.at)
        election:answer(expect(election, 10, "read"), 10, held_by("you", "2"))
        expect(election, 10, "wait")
        election:answer(expect(election, 24.9, "read"), 24.9, held_by("you", "2"))
        assert.equal(25, expect(election, 24.9, "wait").at) -- not two seconds later
        election:answer(expect(election, 25, "read"), 25, held_by("you", "2"))
        order = expect(election, 25, "update")
        assert.equal("2", order.lease.metadata.resourceVersion)
        assert.equal("me", order.lease.spec.holderIdentity)
        assert.equal(4, order.lease.spec.leaseTransitions)
        election:answer(order, 25, stored(order, "3"))
        assert.is_true(election.leading)
    end)

    it("does not believe the times in a Lease: clocks disagree", function()
        local election = elector()
        local lease = held_by("you", "1", "1999-01-01T00:00:00.000000Z")
        election:answer(expect(election, 0, "read"), 0, lease)
        expect(election, 0, "wait")
        election:answer(expect(election, 14, "read"), 14, lease)
        expect(election, 14, "wait")
    end)

    it("waits as long as another's record says", function()
        local election = elector()
        local lease = held_by("you", "1")
        lease.spec.leaseDurationSeconds = 60
        election:answer(expect(election, 0, "read"), 0, lease)
        expect(election, 0, "wait")
        election:answer(expect(election, 59, "read"), 59, lease)
        expect(election, 59, "wait")
        election:answer(expect(election, 60, "read"), 60, lease)
        expect(election, 60, "update")
    end)

    it("does not count a change of metadata as a renewal", function()
        local election = elector()
        election:answer(expect(election, 0, "read"), 0, held_by("you", "1", "then"))
        expect(election, 0, "wait")
        election:answer(expect(election, 15, "read"), 15, held_by("you", "9", "then"))
        assert.equal("9", expect(election, 15, "update").lease.metadata.resourceVersion)
    end)

    it("takes a released Lease at once", function()
        local election = elector()
        election:answer(expect(election, 0, "read"), 0, held_by("", "1"))
        expect(election, 0, "update")
    end)

    it("reads wrong types in the fields as no holder, or as its own duration", function()
        local kubelua = require "kubelua"
        for _, spec in ipairs { false, "text", {}, { holderIdentity = 5 },
            { holderIdentity = kubelua.null } } do
            local election = elector()
            election:answer(expect(election, 0, "read"), 0, lease_of("1", spec or nil))
            expect(election, 0, "update")
        end
        for _, seconds in ipairs { "soon", -1, 0 } do
            local election = elector()
            local lease = lease_of("1", { holderIdentity = "you", leaseDurationSeconds = seconds,
                renewTime = "never", leaseTransitions = "many" })
            election:answer(expect(election, 0, "read"), 0, lease)
            expect(election, 0, "wait")
            election:answer(expect(election, 15, "read"), 15, lease)
            assert.equal(1, expect(election, 15, "update").lease.spec.leaseTransitions)
        end
    end)

    it("counts transitions up to 32 bits only", function()
        local election = elector()
        local lease = held_by("", "1")
        lease.spec.leaseTransitions = 2147483647
        election:answer(expect(election, 0, "read"), 0, lease)
        assert.equal(0, expect(election, 0, "update").lease.spec.leaseTransitions)
    end)

    it("reads again after a conflict, and goes on if no other process holds it", function()
        local election = leading(0)
        local order = expect(election, 2, "update")
        election:answer(order, 2.1, nil, "changed", "conflict")
        local lease = election.object
        lease.metadata.resourceVersion = "7"
        election:answer(expect(election, 2.1, "read"), 2.2, lease)
        assert.is_true(election.leading)
        order = expect(election, 2.2, "update")
        assert.equal("7", order.lease.metadata.resourceVersion)
    end)

    it("asks more slowly when one conflict follows another", function()
        local election = leading(0)
        local lease, now, pauses = election.object, 2, {}
        for i = 1, 4 do
            local order = expect(election, now, "update")
            election:answer(order, now, nil, "changed", "conflict")
            order = election:next(now, 0)
            if order.what == "wait" then
                pauses[i] = math.floor((order.at - now) * 10 + 0.5) / 10
                now = order.at
            end
            lease.metadata.resourceVersion = tostring(100 + i)
            election:answer(expect(election, now, "read"), now, lease)
        end
        assert.same({ [2] = 0.1, [3] = 0.2, [4] = 0.4 }, pauses)
        assert.is_true(election.leading)
    end)

    it("renews with a new record each time, even if its wall clock stands or goes back", function()
        local steps = { 0, 0, 0, 0, 60, 60, 60, -86400, -86400, -86400 }
        local election, seen, now = rig.elector(), {}, 0
        election:answer(election:next(now, 0), now, nil, "no such Lease", "not_found")
        for i, step in ipairs(steps) do
            local order = election:next(now, 1767225600 + step)
            assert.equal(i == 1 and "create" or "update", order.what)
            local renewed = order.lease.spec.renewTime
            assert.is_nil(seen[renewed], "renewed at " .. renewed .. " before")
            seen[renewed] = true
            election:answer(order, now, stored(order, tostring(i)))
            now = now + 2
        end
        assert.is_true(election.leading)
    end)

    it("loses a Lease that another process has taken, at once", function()
        local election = leading(0)
        election:answer(expect(election, 2, "update"), 2, nil, "changed", "conflict")
        election:answer(expect(election, 2, "read"), 2, held_by("you", "5"))
        assert.is_false(election.leading)
        assert.equal("you has taken the Lease", election.lost)
        expect(election, 2, "wait")
    end)

    it("creates a deleted Lease again, if no other process does", function()
        local election = leading(0)
        election:answer(expect(election, 2, "update"), 2, nil, "gone", "not_found")
        election:answer(expect(election, 2, "read"), 2, nil, "gone", "not_found")
        local order = expect(election, 2, "create")
        assert.is_nil(order.lease.metadata)
        election:answer(order, 2, stored(order, "9"))
        assert.is_true(election.leading)
        assert.equal(1, election.term)

        election = leading(0)
        election:answer(expect(election, 2, "update"), 2, nil, "gone", "not_found")
        election:answer(expect(election, 2, "read"), 2, nil, "gone", "not_found")
        election:answer(expect(election, 2, "create"), 2, nil, "there", "already_exists")
        election:answer(expect(election, 2.1, "read"), 2.1, held_by("you", "9"))
        assert.is_false(election.leading)
    end)

    it("retries every few seconds when it is refused, and says why", function()
        local election = elector()
        election:answer(expect(election, 0, "read"), 0, nil, "you may not", "forbidden")
        assert.equal("forbidden", election.code)
        assert.equal(2, expect(election, 0, "wait").at)
        election:answer(expect(election, 2, "read"), 2, nil, "", "not_found")
        election:answer(expect(election, 2, "create"), 2, nil, "no namespace", "not_found")
        assert.equal(4, expect(election, 2, "wait").at)
        assert.equal("no namespace", election.problem)
    end)
end)

describe("a renewal without an answer", function()
    it("counts from when it was sent, if the Lease shows that it happened", function()
        local election = leading(0)
        local order = expect(election, 2, "update")
        election:answer(order, 7, nil, "no answer", "unknown")
        assert.equal(0, election.renewed_at)
        election:answer(expect(election, 7, "read"), 7.1, stored(order, "2"))
        assert.equal(2, election.renewed_at)
        assert.is_true(election.leading)
        assert.equal("2", expect(election, 7.1, "update").lease.metadata.resourceVersion)
    end)

    it("may take effect later, and is recognised then too", function()
        local election = leading(0)
        local before = election.object
        local first = expect(election, 2, "update")
        election:answer(first, 5, nil, "no answer", "unknown")
        -- The write has not taken effect yet
        election:answer(expect(election, 5, "read"), 5, before)
        local second = expect(election, 5, "update")
        election:answer(second, 6, nil, "changed", "conflict")
        election:answer(expect(election, 6.1, "read"), 6.1, stored(first, "2"))
        assert.is_true(election.leading)
        assert.equal(2, election.renewed_at)
    end)

    it("is no failure either: leadership ends by time, and the Lease is still held", function()
        local election = leading(0)
        local order = expect(election, 2, "update")
        election:answer(order, 7, nil, "no answer", "unknown")
        election:answer(expect(election, 7, "read"), 12, nil, "no answer", "timeout")
        assert.is_false(election.leading)
        assert.equal("the Lease was not renewed for 10 seconds: no answer", election.lost)
        expect(election, 12, "wait")
        election:answer(expect(election, 14.5, "read"), 14.5, stored(order, "2"))
        order = expect(election, 14.5, "update") -- no other holder: there is nothing to wait for
        assert.equal(0, order.lease.spec.leaseTransitions)
        election:answer(order, 14.6, stored(order, "3"))
        assert.is_true(election.leading)
        assert.equal(2, election.term)
    end)
end)

describe("writes of a leader", function()
    it("have time until the lease ends, less a tenth of lease - renew", function()
        local election = leading(0)
        assert.equal(14.5, election:time_for_write(0))
        assert.equal(4.5, election:time_for_write(10))
    end)
end)

describe("requests for the Lease", function()
    it("leave time for another request before leadership ends", function()
        local election = leading(0)
        assert.equal(5, expect(election, 2, "update").timeout)
        assert.equal(2, expect(election, 8, "update").timeout)
    end)
end)

describe("two processes of one identity", function()
    it("do not share a Lease", function()
        local one, other = leading(0), elector()
        other:answer(expect(other, 1, "read"), 1, one.object)
        expect(other, 1, "wait")
        assert.is_true(other:is_double())
        assert.is_false(one:is_double())
    end)
end)

describe("a release", function()
    it("writes a Lease without a holder", function()
        local election = leading(0)
        local order = election:release(1767225603)
        assert.same({ holderIdentity = "", leaseDurationSeconds = 1, leaseTransitions = 0,
            acquireTime = "2026-01-01T00:00:00.000000Z",
            renewTime = "2026-01-01T00:00:03.000000Z" }, order.lease.spec)
        assert.equal("1", order.lease.metadata.resourceVersion)
    end)

    it("leaves a Lease alone that another process holds", function()
        local election = elector()
        election:answer(expect(election, 0, "read"), 0, held_by("you", "1"))
        assert.is_nil(election:release(0))
    end)
end)

describe("electors in a world of faults", function()
    it("never lead at the same time, nor while another's writes may go on", function()
        local gains = 0
        for seed = 1, 100 do
            local all = world.new(seed, { electors = 2 + seed % 3, faults = seed % 5 / 10 })
            local ok, problem = pcall(all.run, all, 600)
            assert(ok, "world " .. seed .. ": " .. tostring(problem))
            gains = gains + all.gains
        end
        assert.is_true(gains > 500, gains)
    end)

    it("do not lead at the same time with one identity either", function()
        for seed = 1, 100 do
            local all = world.new(seed, { electors = 3, faults = seed % 5 / 10, identity = "same" })
            local ok, problem = pcall(all.run, all, 600)
            assert(ok, "world " .. seed .. ": " .. tostring(problem))
        end
    end)

    it("have a leader within a lease and some retries after the faults end", function()
        for seed = 1, 100 do
            local all = world.new(seed, { electors = 3, faults = 0.3 })
            all:run(200)
            all.faults = 0
            -- The longest standstill, requests under way, the lease
            all:run(200 + 60 + 40 + 15 + 3 * 2.4)
            assert.is_truthy(all.leader, "world " .. seed)
            local leader = all.leader
            all:run(all.time + 100)
            assert.equal(leader, all.leader)
        end
    end)
end)
