-- The election for a Lease as a state machine: times and answers go in, orders come out.
local rig = require "electors"

local elector, lease_of, held_by = rig.elector, rig.lease_of, rig.held_by
local stored, expect, leading = rig.stored, rig.expect, rig.leading

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
end)
