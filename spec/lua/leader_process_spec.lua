-- Processes that compete for a Lease of one server, and are killed and suspended. One leads after
-- the other, and none writes after another has taken the Lease.
local eventually = require "eventually"
local lease_history = require "lease_history"
local processes = require "processes"
local Sim = require "kubelua.sim"

local TIMES = "lease = 3, renew = 2, retry = 0.4"

describe("processes of one Lease #processes", function()
    local cluster, url, client, history, started

    before_each(function()
        cluster = assert(Sim.new { no_controllers = true })
        url = assert(cluster:listen())
        client = assert(cluster:connect())
        lease_history.prepare(client, "default", 4)
        history, started = lease_history.new(client, "default", "shop"), {}
    end)

    after_each(function()
        for _, process in ipairs(started) do
            process:close()
        end
        client:close()
        cluster:close()
    end)

    local function start(identity)
        local process = processes.start(lease_history.script(string.format("server = %q", url),
            "default", "shop", identity, TIMES), "KUBELUA_LOG=info")
        started[#started + 1] = process
        return process
    end

    local function await_writer(identity, more)
        local before = history:count(identity)
        eventually(function()
            return history:writer() == identity and history:count(identity) > before + (more or 10)
        end, function()
            local said = {}
            for _, process in ipairs(started) do
                said[#said + 1] = process:said()
            end
            return identity .. " writes; " .. table.concat(said, "\n")
        end, 30)
    end

    it("lead one after another when they are killed, suspended, and ended", function()
        local a = start("a")
        await_writer("a")
        local b = start("b")
        eventually(function() return b:said():find("a leads; b stands by", 1, true) end,
            "b stands by", 20)

        a:signal("STOP")
        await_writer("b")
        a:signal("CONT")
        eventually(function() return a:said():find("a does not lead any more", 1, true) end,
            "a notices", 20)
        local count = history:count("a")
        await_writer("b", 100)
        assert.equal(count, history:count("a"))

        b:signal("KILL")
        await_writer("a")

        local c = start("c")
        eventually(function() return c:said():find("a leads; c stands by", 1, true) end,
            "c stands by", 20)
        a:signal("TERM")
        await_writer("c")
        eventually(function() return not a:is_running() end, "a has ended", 10)
        assert.matches("clean end", a:said())
        -- It is left to expire where the last write is not answered within half a second.
        assert.is_true(history:was_released() or a:said():find("not released", 1, true) ~= nil)
        assert.same({}, history:late_writes())
    end)
end)
