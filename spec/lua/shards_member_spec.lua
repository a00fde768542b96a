-- What one member of a ring works on, by what it sees.
local clearing = require "kubelua.shards.clearing"
local Ring = require "kubelua.shards.ring"

local LEASE, PARTS = 15, 256

-- A ring that sees only what a case gives it.
local function lone_ring(by)
    local ring = Ring.new { token = "me", by = by or "key", lease = LEASE, prefix = "p" }
    ring:see({ token = "me", holder = "me", record = "1", duration = LEASE, acquired = "5",
        claims = "", by = "", number = "" }, 0)
    ring:register({ "me" }, 0)
    ring:begin()
    ring:look(0)
    return ring
end

local function see(ring, now, token, fields)
    local facts = { token = token, holder = token, record = tostring(now), duration = LEASE,
        acquired = "9", claims = "", by = "key", number = "" }
    for name, value in pairs(fields or {}) do
        facts[name] = value
    end
    ring:see(facts, now)
    ring:look(now)
end

-- This member's own announcement comes back.
local function come_back(ring, now, number)
    see(ring, now, "me", { number = "p." .. number, acquired = "5" })
end

local function announce_pending(ring, now)
    assert.is_string(ring.pending)
    ring:announce()
    ring:look(now)
    return ring.counter
end

local function count_parts(ring)
    local count = 0
    for _ in pairs(ring.allowed) do
        count = count + 1
    end
    return count
end

describe("a member", function()
    it("works once its announcement has come back, not before", function()
        local ring = lone_ring()
        local number = announce_pending(ring, 0)
        assert.equal(0, count_parts(ring))
        come_back(ring, 1, number)
        assert.equal(PARTS, count_parts(ring))
    end)

    it("announces nothing before the ring's Lease names it", function()
        local ring = Ring.new { token = "me", by = "key", lease = LEASE, prefix = "p" }
        ring:begin()
        ring:look(0)
        assert.is_nil(ring.pending)
        assert.same({ "me" }, clearing.registration(ring))
    end)

    it("takes nothing by a later announcement before that one has come back", function()
        local ring = lone_ring()
        see(ring, 0, "other")
        local first = announce_pending(ring, 0) -- both
        see(ring, 1, "other", { holder = "" })
        local second = announce_pending(ring, 1) -- this one alone
        come_back(ring, 2, first)
        local share = count_parts(ring)
        assert.is_true(share > 0 and share < PARTS)
        come_back(ring, 3, second)
        assert.equal(PARTS, count_parts(ring))
    end)

    it("works on nothing while the ring's Lease names one that it has never seen", function()
        local ring = lone_ring()
        ring:register({ "me", "unseen" }, 0)
        ring:look(0)
        come_back(ring, 1, announce_pending(ring, 0))
        assert.equal(0, count_parts(ring))
        come_back(ring, LEASE, 1)
        come_back(ring, LEASE + 1, announce_pending(ring, LEASE))
        assert.equal(PARTS, count_parts(ring))
        assert.same({ "me" }, clearing.registration(ring))
    end)

    it("works on nothing while another one announces one that it has never seen", function()
        local ring = lone_ring()
        see(ring, 0, "other", { claims = "me,other,unseen" })
        come_back(ring, 1, announce_pending(ring, 0))
        assert.equal(0, count_parts(ring))
    end)

    it("leaves alone what another one has announced, whatever it has announced itself", function()
        local ring = lone_ring()
        see(ring, 0, "other", { claims = "other" })
        come_back(ring, 1, announce_pending(ring, 0))
        assert.equal(0, count_parts(ring))
        see(ring, 2, "other", { claims = "me,other" })
        assert.is_true(count_parts(ring) > 0)
    end)

    it("says which parts it is about to give up", function()
        local ring = lone_ring()
        come_back(ring, 1, announce_pending(ring, 0))
        see(ring, 2, "other")
        local leaving = 0
        for part = 1, PARTS do
            leaving = leaving + (ring:leaves(part) and 1 or 0)
            assert.equal(ring:leaves(part), not ring.allowed[part])
            assert.is_true(ring:holds(part))
        end
        assert.is_true(leaving > 0 and leaving < PARTS)
    end)

    it("begins anew once it has lost its Lease", function()
        local ring = lone_ring()
        come_back(ring, 1, announce_pending(ring, 0))
        ring:stop()
        assert.equal(0, count_parts(ring))
        ring:begin()
        ring:look(2)
        assert.equal(0, count_parts(ring))
        come_back(ring, 3, announce_pending(ring, 2))
        assert.equal(PARTS, count_parts(ring))
    end)

    it("takes no other one for dead while its watch brings nothing", function()
        local ring = lone_ring()
        see(ring, 0, "other", { claims = "me,other" })
        come_back(ring, 1, announce_pending(ring, 0))
        ring:look(10 * LEASE)
        assert.is_nil(ring.pending)
        come_back(ring, 10 * LEASE + 1, 1) -- the watch goes on
        assert.equal("me", ring.pending)
    end)

    it("keeps its claims when it has its Lease again, until its work has ended", function()
        local ring = lone_ring()
        come_back(ring, 1, announce_pending(ring, 0))
        ring:stop()
        assert.equal("me", ring:announcement().claims)
        ring:begin()
        see(ring, 2, "other")
        assert.equal("me", ring.pending)
        come_back(ring, 3, announce_pending(ring, 2))
        assert.equal("me,other", ring.pending)
        local leaving = 0
        for part = 1, PARTS do
            leaving = leaving + (ring:leaves(part) and 1 or 0)
        end
        assert.is_true(leaving > 0)
    end)

    it("claims nothing when it has its Lease again after its work has ended", function()
        local ring = lone_ring()
        come_back(ring, 1, announce_pending(ring, 0))
        ring:stop()
        ring:rest()
        assert.equal("", ring:announcement().claims)
        ring:begin()
        see(ring, 2, "other")
        assert.equal("me,other", ring.pending)
    end)

    it("has its share once all others have given it up", function()
        local ring = lone_ring()
        see(ring, 0, "a", { claims = "a,b" })
        see(ring, 0, "b", { claims = "a,b" })
        come_back(ring, 1, announce_pending(ring, 0))
        assert.is_false(ring:has_share())
        see(ring, 2, "a", { claims = "a,b,me" })
        assert.is_true(count_parts(ring) > 0)
        assert.is_false(ring:has_share())
        see(ring, 2, "b", { claims = "a,b,me" })
        assert.is_true(ring:has_share())
    end)

    it("has its share also if that is no part, as of many members", function()
        local ring, tokens = lone_ring(), {}
        for i = 1, 600 do
            tokens[i] = "m" .. i
        end
        local claims = table.concat(tokens, ",")
        for _, token in ipairs(tokens) do
            ring:see({ token = token, holder = token, record = "0", duration = LEASE,
                acquired = "9", claims = claims, by = "key", number = "" }, 0)
        end
        ring:look(0)
        come_back(ring, 1, announce_pending(ring, 0))
        assert.equal(0, count_parts(ring))
        assert.is_true(ring:has_share())
    end)

    it("stands by while an older one shares out otherwise", function()
        local ring = lone_ring("uid")
        see(ring, 0, "other", { acquired = "1", claims = "other" })
        assert.equal("other", ring.stands_by)
        come_back(ring, 1, announce_pending(ring, 0))
        assert.is_false(ring:has_place())
        see(ring, 2, "other", { holder = "" })
        come_back(ring, 3, announce_pending(ring, 2))
        assert.equal(PARTS, count_parts(ring))
    end)

    it("keeps what it has when its watch is opened anew, and takes more only after that", function()
        local ring = lone_ring()
        see(ring, 0, "other", { claims = "me,other" })
        come_back(ring, 1, announce_pending(ring, 0))
        local share = count_parts(ring)
        ring:reopen()
        see(ring, 2, "other", { claims = "other" }) -- an older state
        assert.equal(0, count_parts(ring))
        see(ring, 3, "other", { claims = "" }) -- as if it had never announced anything
        assert.equal(0, count_parts(ring))
        local anew = announce_pending(ring, 3)
        see(ring, 4, "other", { claims = "me,other" })
        assert.equal(0, count_parts(ring))
        come_back(ring, 5, anew)
        assert.equal(share, count_parts(ring))
    end)

    it("announces the same anew when its watch is opened anew, and works on meanwhile", function()
        local ring = lone_ring()
        come_back(ring, 1, announce_pending(ring, 0))
        ring:reopen()
        ring:look(2)
        assert.equal("me", ring.pending)
        assert.equal(PARTS, count_parts(ring))
        come_back(ring, 3, announce_pending(ring, 2))
        assert.is_nil(ring.pending)
        assert.equal(PARTS, count_parts(ring))
    end)

    it("begins no work while it resigns, and may end what goes on", function()
        local ring = lone_ring()
        come_back(ring, 1, announce_pending(ring, 0))
        ring:resign(true)
        assert.equal(0, count_parts(ring))
        see(ring, 2, "other")
        assert.is_nil(ring.pending)
        assert.equal(0, count_parts(ring))
        assert.is_true(ring:holds(1))
        ring:resign(false)
        ring:look(3)
        assert.is_true(count_parts(ring) > 0)
    end)

    it("counts a member whose Lease cannot be read as there until it would run out", function()
        local ring = lone_ring()
        ring:suspect("odd", 0)
        come_back(ring, 1, announce_pending(ring, 0))
        assert.equal(0, count_parts(ring))
        come_back(ring, LEASE, 1)
        come_back(ring, LEASE + 1, announce_pending(ring, LEASE))
        assert.equal(PARTS, count_parts(ring))
        see(ring, LEASE + 2, "left", { holder = "" })
        assert.equal(PARTS, count_parts(ring))
        ring:suspect("left", LEASE + 3)
        ring:look(LEASE + 3)
        assert.equal(0, count_parts(ring))
    end)

    it("looks at members that announce the same together", function()
        local ring, tokens, lookups = lone_ring(), { "me" }, 0
        for i = 1, 200 do
            tokens[#tokens + 1] = "m" .. i
        end
        local claims = table.concat(tokens, ",")
        for i = 2, #tokens do
            ring:see({ token = tokens[i], holder = tokens[i], record = "0", duration = LEASE,
                acquired = "9", claims = claims, by = "key", number = "" }, 0)
        end
        ring:look(0)
        come_back(ring, 1, announce_pending(ring, 0))
        local of = ring.owners.of
        ring.owners.of = function(...)
            lookups = lookups + 1
            return of(...)
        end
        ring:look(2)
        assert.is_true(lookups < 2 * PARTS, lookups)
        ring.owners.of = nil
    end)
end)
