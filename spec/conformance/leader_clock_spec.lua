-- Leaders whose wall clocks step ahead, back and stand still, and whose tokens expire, while they
-- are killed and stopped and their renewals are conflicts: no key is lost, no process writes once
-- another has taken the Lease, and none asks in a hurry. The monotonic clocks go on as they do;
-- the server's clock is the machine's.
local conformance = require "conformance"
local core = require "kubelua.core"
local eventually = require "eventually"
local Rivals = require "rivals"
local Sim = require "kubelua.sim"

local SECONDS = 4 -- that a token is good for

-- A stop may let one write out under a sanitizer: see leader_spec.lua.
local LATE = os.getenv("ASAN_OPTIONS") and 2 or 0

-- A service account that may do all in the namespace; its tokens expire.
local function real_server(scene, cluster)
    local client = scene:connect()
    local account = assert(client:create { apiVersion = "v1", kind = "ServiceAccount",
        metadata = { name = "rival", namespace = scene.namespace } })
    cluster:control("kubectl", "-n", scene.namespace, "create", "rolebinding", "rival",
        "--clusterrole=cluster-admin", "--serviceaccount=" .. scene.namespace .. ":rival")
    return {
        client = client, namespace = scene.namespace, url = cluster.env.SERVER,
        token = function()
            return cluster:control("service-token", scene.namespace, "rival",
                account.uid, tostring(SECONDS)):match("%S+"), SECONDS
        end,
        expire = function() end, -- by itself
        source = "plugin",
        -- Requests without a token that is good.
        count_refused = function()
            local count = 0
            for line in cluster:control("kubectl", "get", "--raw", "/metrics"):gmatch("[^\n]+") do
                local result, value =
                    line:match('^authentication_attempts{result="(%a+)"} (%d+)')
                count = count + (result and result ~= "success" and tonumber(value) or 0)
            end
            return count
        end,
        close = function() end,
    }
end

-- A simulator has one token for good: one that has expired is another, in the file. What a plugin
-- has answered before would be good for ever.
local function simulated_server()
    local sim = assert(Sim.new { token = "right", no_controllers = true })
    return {
        client = assert(sim:connect()), namespace = "default",
        url = assert(sim:listen { tls = true }),
        token = function() return "right", SECONDS end,
        source = "file",
        expire = function(rival)
            local file = assert(io.open(rival.credential, "w"))
            file:write("expired")
            file:close()
        end,
        count_refused = function() return #sim:requests { status = 401 } end,
        close = function(self)
            self.client:close()
            sim:close()
        end,
    }
end

local function await_renewals(all, leader, count)
    local before = all.history:count_renewals(leader)
    eventually(function()
        return all.history:count_renewals(leader) >= before + count
    end, leader .. " renews " .. count .. " times")
end

-- The leader goes on through them all, and the others wait: they count by another clock.
local function step_clocks(all, leader)
    local other = all:others(leader)[1]
    for _, how in ipairs { 4, "s", -4, 0 } do
        local began, runs = core.now(), all:plugin_runs(other)
        all:set_clock(leader, how)
        all:set_clock(other, how == "s" and "s" or -how)
        await_renewals(all, leader, 8) -- longer than the Lease lasts
        assert.equal(leader, all:await_writer())
        -- To a clock that is ahead, each token comes expired: it is used all the same.
        runs = all:plugin_runs(other) - runs
        local most = 3 + (core.now() - began) / (how == -4 and 10 or SECONDS / 2)
        assert.is_true(runs <= most, runs .. " runs of the plugin, with a clock at " .. how)
    end
    assert.is_nil(all:said(leader):find("does not lead any more", 1, true))
end

local function stop_and_step(all, leader)
    local process = all.running[leader].process
    local before = #process:said()
    process:signal("STOP")
    all:set_clock(leader, -4)
    local follower = all:await_writer(leader)
    all:set_clock(leader, 4)
    process:signal("CONT")
    all:await_said(leader, "does not lead any more", before)
    return follower
end

-- The token of the leader expires: another leads. With a good token it is one of them again.
local function expire(all, leader, server)
    local rival, began = all.running[leader], core.now()
    local refused, runs = server.count_refused(), all:plugin_runs(leader)
    rival.starves = true
    server.expire(rival)
    local follower = all:await_writer(leader)
    all:await_said(leader, "nauthorized")
    refused = server.count_refused() - refused
    -- Some 2 renewals a second and runs with a backoff, each tried twice; the plugin as often.
    local most = 40 + 10 * (core.now() - began)
    assert.is_true(refused > 0 and refused < most, refused .. " requests were refused")
    runs = all:plugin_runs(leader) - runs
    assert.is_true(runs < most, "the plugin was run " .. runs .. " times")
    local before = #all:said(leader)
    rival.starves = false
    all:feed()
    all:await_said(leader, "stands by", before)
    return follower
end

local function play(all, server)
    local leader = all:start("file")
    assert.equal(leader, all:await_writer())
    all:start(server.source)
    all:start(server.source)
    all:await_said(all:others(leader)[1], "stands by")
    step_clocks(all, leader)
    for _ = 1, 2 do -- one whose token is out of a file, then one whose is a plugin's, if any is
        local follower = expire(all, leader, server)
        all:kill(leader)
        all:start(server.source)
        leader = stop_and_step(all, follower)
    end
    for _, other in ipairs(all:others(leader)) do
        all:set_clock(other, 2)
    end
    all:kill(leader)
    leader = all:await_writer(leader)
    all.running[leader].process:signal("TERM")
    all:await_writer(leader)
    all:await_said(leader, "clean end")
    local late = all.history:late_writes()
    assert.is_true(#late <= LATE, table.concat(late, "\n"))
end

conformance.describe("Leaders with wrong clocks", function(it, cluster)
    -- Programs that these start crash with ThreadSanitizer's library loaded before them.
    if not cluster.over_network or (os.getenv("LD_PRELOAD") or ""):find("tsan", 1, true) then
        return
    end
    it("lead one after the other, and lose no key", function(scene)
        local server = cluster.is_real and real_server(scene, cluster) or simulated_server()
        local all = Rivals.new(server.client, server.namespace, server)
        local ok, problem = pcall(play, all, server)
        all:close()
        server:close()
        if not ok then
            error(problem, 0)
        end
    end)
end)
