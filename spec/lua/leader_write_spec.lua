-- Which writes of a leader are sent, and how long they may take; and a process that was suspended.
local core = require "kubelua.core"
local eventually = require "eventually"
local leader = require "kubelua.leader"
local Sim = require "kubelua.sim"
local worlds = require "leader_world"

describe("a write", function()
    local world

    before_each(function() world = worlds.new() end)
    after_each(function() world:close() end)

    local function refuses(answer, message, code)
        assert.is_nil(answer)
        assert.equal("not_leader", code)
        assert.matches("Lease default/foo", message, 1, true)
        assert.matches("the write was not sent", message, 1, true)
    end

    it("of a process that does not lead is refused", function()
        world:join("a")
        world:settle()
        local other = world:join("b")
        world:settle()
        refuses(other.before_write {})
        refuses(other.guard() {})
    end)

    it("ends before the Lease does, and within its own timeout", function()
        local one = world:join("a")
        world:settle()
        local write = {}
        assert.is_true(one.before_write(write))
        assert.equal(14.5, write.timeout)
        write = { timeout = 3 }
        assert.is_true(one.before_write(write))
        assert.equal(3, write.timeout)
        world.cluster:fail { resource = "leases", status = 500, count = 0 }
        world:pass(9)
        write = {}
        assert.is_true(one.before_write(write))
        assert.equal(5.5, write.timeout)
    end)

    it("of one leadership is refused in the next", function()
        local one = world:join("a")
        world:settle()
        local guard = one.guard()
        assert.is_true(guard {})
        world.cluster:fail { resource = "leases", status = 500, count = 0 }
        world:pass(11)
        refuses(guard {})
        world.cluster:heal()
        world:pass(5)
        assert.is_true(one.is_leader())
        refuses(guard {})
        assert.is_true(one.guard() {})
    end)

    it("is refused once the Lease is released", function()
        local one = world:join("a")
        world:settle()
        local guard = one.guard()
        one.release()
        refuses(guard {})
    end)
end)

describe("under a fake clock", function()
    it("an hour passes at once, and the leader has renewed all the time #many", function()
        local world = worlds.new()
        local one = world:join("a")
        world:settle()
        local version = tonumber(world:lease().resource_version)
        world.cluster:advance(3600)
        assert.is_true(one.is_leader())
        assert.same({ "a gains" }, world.log)
        assert.is_true(tonumber(world:lease().resource_version) >= version + 1799)
        world:close()
    end)
end)

describe("a renewal that hangs", function()
    it("ends the leadership in time; the next one begins when answers come again", function()
        local sim = assert(Sim.new { no_controllers = true })
        local client = assert(sim:connect())
        local one = leader.join(client, { name = "foo", lease = 1.2, renew = 0.8, retry = 0.1 })
        eventually(one.is_leader, "it leads", 10)
        local guard = one.guard()
        sim:freeze { verb = "update", resource = "leases", count = 0 }
        local since = core.now()
        eventually(function() return not one.is_leader() end, "it ends", 10)
        assert.is_true(core.now() - since < 1.1, core.now() - since)
        assert.is_nil((guard {}))
        sim:heal()
        eventually(one.is_leader, "it leads again", 10)
        one.release()
        eventually(function() return sim:get("leases", "default/foo").spec.holderIdentity == "" end,
            "it is given back", 10)
        client:close()
        sim:close()
    end)
end)

describe("a process that was suspended", function()
    local boottime = core.boottime
    local sim, client

    before_each(function()
        sim = assert(Sim.new { no_controllers = true })
        client = assert(sim:connect())
    end)

    after_each(function()
        core.boottime = boottime
        client:close()
        sim:close()
    end)

    it("notices it by its clock before it writes, and before handlers run", function()
        local one = leader.join(client, "foo")
        local losses = 0
        one.on_loss(function() losses = losses + 1 end)
        eventually(one.is_leader, "it leads", 10)
        local guard = one.guard()
        assert.is_true(guard {})
        core.boottime = function() return boottime() + 9 end
        assert.is_true(guard {})
        -- As after SIGSTOP, or a suspension of the machine: no timer has fired meanwhile.
        core.boottime = function() return boottime() + 11 end
        local ok, _, code = guard {}
        assert.is_nil(ok)
        assert.equal("not_leader", code)
        assert.equal(1, losses)
        eventually(one.is_leader, "it leads again: nobody has taken the Lease", 10)
        assert.is_nil((guard {}))
        one.release()
        eventually(function() return sim:get("leases", "default/foo").spec.holderIdentity == "" end,
            "it is given back", 10)
    end)
end)
