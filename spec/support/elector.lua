-- An elector for specs of the state machine: it draws no random numbers, and the spec makes its
-- answers.
local Election = require "kubelua.leader.election"

local rig = {}

---@param identity string?
function rig.elector(identity)
    return Election.new { identity = identity or "me", lease = 15, renew = 10, retry = 2,
        random = function() return 0 end }
end

---A Lease as a server stores it.
function rig.lease_of(version, spec)
    return { metadata = { name = "l", resourceVersion = version }, spec = spec }
end

---The Lease of a holder; `renewed` makes one renewal differ from another.
function rig.held_by(holder, version, renewed)
    return rig.lease_of(version, { holderIdentity = holder, leaseDurationSeconds = 15,
        acquireTime = "2026-01-01T00:00:00.000000Z", renewTime = renewed or version,
        leaseTransitions = 3 })
end

---What a server answers to a write.
function rig.stored(order, version)
    order.lease.metadata = order.lease.metadata or { name = "l" }
    order.lease.metadata.resourceVersion = version
    return order.lease
end

---Asks for the next order, expects this one, and returns it.
function rig.expect(election, now, what)
    local order = election:next(now, 1767225600 + now)
    if order.what ~= what then
        error("the order is to " .. order.what .. ", not to " .. what, 2)
    end
    return order
end

---An elector that has led since `now`.
function rig.leading(now)
    local election = rig.elector()
    election:answer(rig.expect(election, now, "read"), now, nil, "no such Lease", "not_found")
    local order = rig.expect(election, now, "create")
    election:answer(order, now, rig.stored(order, "1"))
    assert(election.leading)
    return election
end

return rig
