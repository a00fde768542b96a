-- Leader election on the simulated cluster: several electors and one Lease; and what an election
-- logs: each thing once, and the remedy.
local leader = require "kubelua.leader"
local worlds = require "leader_world"
local process_of = require("processes").output_of

describe("options of an election", function()
    local client

    before_each(function() client = assert(require("kubelua.sim").new()):connect() end)
    after_each(function() client:close() end)

    local function refuses(given, message)
        local ok, problem = pcall(leader.join, client, given)
        assert.is_false(ok)
        assert.matches(message, problem, 1, true)
    end

    it("have times in order: retry, renew, lease", function()
        refuses({ name = "foo", renew = 15 }, "0 < retry < renew < lease")
        refuses({ name = "foo", retry = 0 }, "retry = 0")
        refuses({ name = "foo", retry = 12 }, "retry = 12")
        refuses({ name = "foo", lease = 0 / 0 }, "0 < retry < renew < lease")
        refuses({ name = "foo", lease = 1e12 }, "0 < retry < renew < lease")
    end)

    it("need a valid name of a Lease, and no unknown options", function()
        refuses({}, "the name of a Lease expected")
        refuses("Foo", "'Foo' cannot be the name of a Lease")
        refuses("a/b", "'a/b' cannot be the name of a Lease")
        refuses({ name = "foo", leases = 3 }, "do you mean 'lease'?")
        refuses({ name = "foo", identity = "" }, "the identity is empty")
        refuses({ name = "foo", namespace = "A B" }, "A B")
    end)
end)

describe("electors", function()
    local world

    before_each(function() world = worlds.new() end)
    after_each(function() world:close() end)

    it("create a Lease, and the first one leads", function()
        local one = world:join("a")
        world:settle()
        local other = world:join("b")
        world:settle()
        assert.same({ "a gains" }, world.log)
        assert.is_true(one.is_leader())
        assert.is_false(other.is_leader())
        local spec = world:lease().spec
        assert.equal("a", spec.holderIdentity)
        assert.equal(15, spec.leaseDurationSeconds)
        assert.equal(0, spec.leaseTransitions)
        assert.matches("^2026%-01%-01T00:00:00%.%d%d%d%d%d%dZ$", spec.renewTime)
        local status = other.status()
        assert.equal("default/foo", status.lease)
        assert.equal("a", status.holder)
        assert.equal("b", status.identity)
        assert.is_false(status.leading)
        assert.equal(world.cluster:now(), one.status().since)
    end)

    it("do not take over while the Lease is renewed", function()
        world:join("a")
        world:settle()
        world:join("b")
        world:pass(120)
        assert.same({ "a gains" }, world.log)
        assert.equal("2026-01-01T00:02", world:lease().spec.renewTime:sub(1, 16))
        assert.equal(0, world:lease().spec.leaseTransitions)
    end)

    it("renew every `retry` seconds, by one request each", function()
        world:join("a")
        world:pass(20)
        assert.equal(10, #world.cluster:requests { verb = "update", resource = "leases" })
        assert.equal(1, #world.cluster:requests { verb = "get", resource = "leases" })
    end)

    it("take over a Lease that was not renewed for its duration", function()
        local client = world:connect()
        world:join("a", nil, client)
        world:settle()
        world:join("b")
        world:pass(4)
        local renewed_at = world.cluster:now()
        client:close() -- as if its process had died
        world:pass(13)
        assert.same({ "a gains" }, { world.log[1] })
        assert.is_nil(world.log[3])
        world:pass(5)
        assert.same({ "a gains", "a loses", "b gains" }, world.log)
        assert.is_true(world.cluster:now() - renewed_at < 22.5)
        assert.equal("b", world:lease().spec.holderIdentity)
        assert.equal(1, world:lease().spec.leaseTransitions)
    end)

    it("take over a released Lease at once", function()
        local one = world:join("a")
        world:settle()
        local other = world:join("b")
        world:pass(1)
        one.release()
        assert.is_false(one.is_leader()) -- at once, before the request to release is sent
        world:settle()
        assert.equal("", world:lease().spec.holderIdentity)
        world:pass(3)
        assert.is_true(other.is_leader())
        assert.equal(1, world:lease().spec.leaseTransitions)
        one.release() -- a second release does nothing
    end)

    it("stop when they cannot renew, and say why", function()
        local one = world:join("a")
        world:pass(4)
        world.cluster:fail { resource = "leases", status = 500, count = 0, message = "no quorum" }
        world:pass(9)
        assert.is_true(one.is_leader())
        world:pass(3)
        assert.same({ "a gains", "a loses" }, world.log)
        local status = one.status()
        assert.equal("internal", status.code)
        assert.matches("no quorum", status.problem)
        world.cluster:heal()
        world:pass(5)
        assert.same({ "a gains", "a loses", "a gains" }, world.log)
        assert.equal(0, world:lease().spec.leaseTransitions) -- no other process has held it
    end)

    it("go on after conflicts, and after failures that end in time", function()
        local one = world:join("a")
        world:pass(2)
        world.cluster:fail { resource = "leases", verb = "update", status = 503, count = 3 }
        world:pass(8)
        assert(world.cluster:patch("leases", "default/foo",
            { metadata = { labels = { x = "y" } } }))
        world:pass(4)
        assert.same({ "a gains" }, world.log)
        assert.is_true(one.is_leader())
        assert.equal("y", world:lease().metadata.labels.x)
    end)

    it("create a Lease again that was deleted", function()
        local one = world:join("a")
        world:pass(3)
        local uid = world:lease().uid
        assert(world.cluster:delete("leases", "default/foo"))
        world:pass(3)
        assert.is_true(one.is_leader())
        assert.not_equal(uid, world:lease().uid)
        assert.same({ "a gains" }, world.log)
    end)

    it("lose a Lease into which another process has written its name", function()
        local one = world:join("a")
        world:pass(3)
        assert(world.cluster:patch("leases", "default/foo",
            { spec = { holderIdentity = "thief" } }))
        world:pass(2.5)
        assert.is_false(one.is_leader())
        assert.equal("thief", one.status().holder)
    end)

    it("wait for a namespace, and for the right", function()
        local one = world:join("a", { namespace = "later" })
        world:pass(5)
        assert.equal("not_found", one.status().code)
        assert(world.cluster:apply { apiVersion = "v1", kind = "Namespace",
            metadata = { name = "later" } })
        world:pass(3)
        assert.is_true(one.is_leader())

        world.cluster:fail { resource = "leases", namespace = "other", status = 403, count = 3 }
        assert(world.cluster:apply { apiVersion = "v1", kind = "Namespace",
            metadata = { name = "other" } })
        local two = world:join("b", { namespace = "other" })
        world:pass(2)
        assert.equal("forbidden", two.status().code)
        world:pass(8)
        assert.is_true(two.is_leader())
    end)

    it("of one identity do not both lead", function()
        local one = world:join("same")
        world:settle()
        -- Another process with this identity: what it wrote is not what this one wrote.
        local lease = world:lease():table()
        lease.spec.renewTime = "2026-01-01T00:00:01.000001Z"
        assert(world.cluster:update(lease))
        world:pass(3)
        assert.is_false(one.is_leader())
        world:pass(10)
        assert.is_false(one.is_leader())
        world:pass(6)
        assert.is_true(one.is_leader()) -- the other one has released it
    end)

    it("end with their client", function()
        local client = world:connect()
        local one = world:join("a", nil, client)
        world:settle()
        client:close()
        world:pass(3)
        assert.same({ "a gains", "a loses" }, world.log)
        assert.is_false(one.is_leader())
    end)
end)

describe("controllers of one process that name one Lease", function()
    local world

    before_each(function() world = worlds.new() end)
    after_each(function() world:close() end)

    it("share an election, with any client, and the last one releases the Lease", function()
        local one = world:join()
        world:settle()
        local other = world:join()
        assert.same({ "own gains", "own gains" }, world.log)
        assert.equal(one.status().identity, other.status().identity)
        local core = require "kubelua.core"
        assert.matches("^" .. core.hostname():gsub("%p", "%%%0") .. "_%x+$", one.status().identity)
        assert.equal(1, #world.cluster:requests { verb = "create", resource = "leases" })
        one.release()
        world:pass(5)
        assert.is_false(one.is_leader())
        assert.is_true(other.is_leader())
        other.release()
        world:settle()
        assert.equal("", world:lease().spec.holderIdentity)
    end)

    it("go on when the client of one of them is closed", function()
        local client = world:connect()
        world:join(nil, nil, client)
        world:settle()
        local other = world:join()
        client:close()
        world:pass(30)
        assert.is_true(other.is_leader())
    end)

    it("have one set of times", function()
        world:join()
        assert.has_error(function() world:join(nil, { lease = 20 }) end)
        world:join(nil, { lease = 20, namespace = "kube-system" }) -- another Lease
    end)
end)

describe("the log of an election #processes", function()
    it("names a repeated failure once, and the right that is missing", function()
        local said = process_of([[
            package.path = "spec/support/?.lua;" .. package.path
            local world = require("leader_world").new()
            world:join("a")
            world:pass(4)
            local cluster = world.cluster
            cluster:fail { resource = "leases", verb = "update", status = 500, count = 0,
                message = "no quorum" }
            world:pass(8)
            cluster:fail { resource = "leases", verb = "get", status = 500, skip = 1, count = 0,
                message = "no quorum" }
            world:pass(20)
            cluster:heal()
            world:pass(4)
            cluster:fail { resource = "leases", status = 403, count = 0 }
            world:pass(30)
            world:close()
        ]], "KUBELUA_LOG=info")
        local function count(text)
            local found = 0
            for _ in said:gmatch((text:gsub("%p", "%%%0"))) do
                found = found + 1
            end
            return found
        end
        assert.equal(1, count("the Lease was not renewed: HTTP 500: no quorum"), said)
        assert.equal(0, count("the Lease was not read: HTTP 500: no quorum"), said)
        assert.equal(2, count("info  leader election by Lease default/foo: a leads"), said)
        assert.equal(2, count("a does not lead any more: the Lease was not renewed for 10 seconds"),
            said)
        assert.equal(1, count("this needs the verbs get, create and update on leases of the group "
            .. "coordination.k8s.io in the namespace default"), said)
        assert.matches("status 0", said)
    end)
end)
