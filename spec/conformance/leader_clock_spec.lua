-- Leaders whose wall clocks step ahead, back and stand still, and whose tokens expire, while they
-- are killed and suspended and their renewals meet conflicts: no key is lost, no process writes
-- after another has taken the Lease, and none sends too many requests. The monotonic clocks are not
-- changed; the server uses the machine's clock.
local conformance = require "conformance"
local core = require "kubelua.core"
local eventually = require "eventually"
local Rivals = require "rivals"
local Sim = require "kubelua.sim"

local SECONDS = 4 -- the lifetime of a token

-- Under a sanitizer a suspended process may send a write too late: see leader_spec.lua.
local LATE = os.getenv("ASAN_OPTIONS") and 2 or 0

-- A service account with all rights in the namespace; its tokens expire.
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
        expire = function() end, -- tokens expire by themselves
        source = "plugin",
        -- Counts requests without a valid token.
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

-- A simulator accepts one token for ever. So an expired token is another text, written to the file;
-- a plugin cannot be used, as a token that it has returned before would stay valid.
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

-- The leader leads on through all steps, and the others wait: electors measure time by the
-- monotonic clock.
local function step_clocks(all, leader)
    local other = all:others(leader)[1]
    for _, how in ipairs { 4, "s", -4, 0 } do
        local began, runs = core.now(), all:plugin_runs(other)
        all:set_clock(leader, how)
        all:set_clock(other, how == "s" and "s" or -how)
        await_renewals(all, leader, 8) -- longer than the Lease lasts
        assert.equal(leader, all:await_writer())
        -- For a process whose clock is ahead, each token seems expired when it comes; it is used
        -- all the same.
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

-- Lets the leader's token expire: another one leads. With a valid token the former leader stands by
-- again.
local function expire(all, leader, server)
    local rival, began = all.running[leader], core.now()
    local refused, runs = server.count_refused(), all:plugin_runs(leader)
    rival.starves = true
    server.expire(rival)
    local follower = all:await_writer(leader)
    all:await_said(leader, "nauthorized")
    refused = server.count_refused() - refused
    -- Some 2 renewals a second, and reconciles with a backoff, each request tried twice; the plugin
    -- runs as often.
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
    -- the first leader has a token from a file, the second one from a plugin if there are plugins
    for _ = 1, 2 do
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
    -- Programs that these processes start crash if ThreadSanitizer's library is preloaded.
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
