-- Leaders that are suspended, continued and killed while they write all the time, and whose Lease
-- other clients change too: no process writes after another has taken the Lease. KUBELUA_CHAOS: how
-- many leaders are suspended or killed (4).
local conformance = require "conformance"
local eventually = require "eventually"
local kubelua = require "kubelua"
local lease_history = require "lease_history"
local processes = require "processes"

local TIMES = "lease = 3, renew = 2, retry = 0.4"
local LEADERS = tonumber(os.getenv("KUBELUA_CHAOS")) or 4

-- A process checks the clock once more just before it sends a write. Under a sanitizer the
-- microseconds between the two become milliseconds: a process that is suspended then sends one
-- write too late.
local LATE = (os.getenv("ASAN_OPTIONS") or os.getenv("TSAN_OPTIONS")) and LEADERS or 0

local chaos = {}
chaos.__index = chaos

function chaos.new(scene, cluster)
    local self = setmetatable({ scene = scene, running = {}, count = 0,
        kubeconfig = cluster.kubeconfig or cluster.folder .. "/kubeconfig" }, chaos)
    local client = scene:connect()
    lease_history.prepare(client, scene.namespace, 4)
    self.history = lease_history.new(client, scene.namespace, "shop")
    -- Changes the Lease, so that a renewal meets a conflict now and then.
    self.ticker = kubelua.every(0.3, function()
        self.ticks = (self.ticks or 0) + 1
        client:patch("leases", scene.namespace .. "/shop",
            { metadata = { labels = { touched = tostring(self.ticks) } } })
    end)
    return self
end

function chaos:start()
    self.count = self.count + 1
    local identity = "p" .. self.count
    self.running[identity] = processes.start(lease_history.script(
        string.format("kubeconfig = %q", self.kubeconfig), self.scene.namespace, "shop", identity,
        TIMES), "KUBELUA_LOG=info")
end

function chaos:close()
    self.ticker.stop()
    for _, process in pairs(self.running) do
        process:close()
    end
    self.history:stop()
end

-- Waits until another process writes; returns its identity.
function chaos:await_writer(but)
    local before = #self.history.writes
    return eventually(function()
        local writer = self.history:writer()
        return writer and writer ~= but and writer == self.history:holder()
            and #self.history.writes > before + 20 and writer
    end, function()
        local said = {}
        for identity, process in pairs(self.running) do
            said[#said + 1] = identity .. ": " .. process:said()
        end
        return "another than " .. tostring(but) .. " writes\n" .. table.concat(said, "\n")
    end)
end

-- Suspends the leader until another one has taken the Lease, or (`is_long`) has written, and
-- continues it.
function chaos:stop(leader, is_long)
    local process = self.running[leader]
    process:signal("STOP")
    if is_long then
        self:await_writer(leader)
    else
        eventually(function()
            local holder = self.history:holder()
            return holder ~= leader and holder ~= ""
        end, "another takes the Lease of " .. leader)
    end
    local before = #process:said()
    process:signal("CONT")
    eventually(function()
        return process:said():find("does not lead any more", before + 1, true)
    end, leader .. " notices")
end

function chaos:kill(leader)
    self.running[leader]:close()
    self.running[leader] = nil
    self:start()
end

-- The server is killed, and starts again with an empty watch cache.
local function describe_real(it, cluster)
    it("go on after the server was killed", function(scene)
        local all = chaos.new(scene, cluster)
        local ok, problem = pcall(function()
            all:start()
            all:start()
            all:await_writer()
            for _ = 1, 2 do
                cluster:crash()
                -- Writes in between are seen only in their final state, so their order is not
                -- known.
                all.history:stop()
                all.history = lease_history.new(scene.client, scene.namespace, "shop")
                all:await_writer()
                assert.same({}, all.history:late_writes())
            end
        end)
        all:close()
        if not ok then
            error(problem, 0)
        end
    end)
end

conformance.describe("Leaders", function(it, cluster)
    -- Programs that these processes start crash if ThreadSanitizer's library is preloaded.
    if not cluster.over_network or (os.getenv("LD_PRELOAD") or ""):find("tsan", 1, true) then
        return
    elseif cluster.is_real then
        describe_real(it, cluster)
    end
    it("that are stopped and killed write nothing once another leads", function(scene)
        local all = chaos.new(scene, cluster)
        local ok, problem = pcall(function()
            for _ = 1, 3 do
                all:start()
            end
            local leader = all:await_writer()
            for i = 1, LEADERS do
                if i % 3 == 0 then
                    all:kill(leader)
                else
                    all:stop(leader, i % 3 == 1)
                end
                leader = all:await_writer(leader)
            end
            local last = all.running[leader]
            last:signal("TERM")
            all:await_writer(leader)
            -- The Lease is left to expire if the last write is not answered within half a second.
            assert.is_true(all.history:was_released()
                or last:said():find("not released", 1, true) ~= nil)
            local late = all.history:late_writes()
            assert.is_true(#late <= LATE, table.concat(late, "\n"))
        end)
        all:close()
        if not ok then
            error(problem, 0)
        end
    end)
end)
