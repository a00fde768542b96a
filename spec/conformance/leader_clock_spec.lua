-- Leaders whose wall clocks step ahead, back and stand still, and whose tokens expire, while they
-- are killed and suspended and their renewals meet conflicts: no key is lost, no process writes
-- after another has taken the Lease, and none sends too many requests. The monotonic clocks are not
-- changed; the server uses the machine's clock.
local conformance = require "conformance"
local core = require "kubelua.core"
local eventually = require "eventually"
local kubelua = require "kubelua"
local lease_history = require "lease_history"
local processes = require "processes"
local Sim = require "kubelua.sim"

-- Processes that compete for a Lease, each with a token that can expire, and with a wall clock that
-- can be moved (spec/support/preload/clock_step.c). The token comes from a file, or from a plugin
-- that says when it expires.
local Rivals = {}
Rivals.__index = Rivals

local TIMES = "lease = 3, renew = 2, retry = 0.4"
local MAPS = 4
local CLOCK = (os.getenv("KUBELUA_BUILD") or "build") .. "/spec/clock_step.so"

local PLUGIN = [[
echo run >>"$1.runs"
printf '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{'
printf '"token":"%s","expirationTimestamp":"%s"}}' "$(cat "$1")" "$(cat "$1.expires")"
]]

local function write(path, text, mode)
    local file = assert(io.open(path, mode or "w"))
    file:write(text)
    file:close()
end

-- Renames a new file over the old one, so that no reader sees half a file.
local function replace(path, text)
    write(path .. ".new", text)
    assert(os.rename(path .. ".new", path))
end

---@param client kubelua.Client of the spec
---@param namespace string
---@param server { url: string, token: fun(): string, integer } token: returns a valid token and its
---lifetime in seconds
function Rivals.new(client, namespace, server)
    local self = setmetatable({ namespace = namespace, server = server, running = {}, count = 0,
        folder = os.tmpname() }, Rivals)
    lease_history.prepare(client, namespace, MAPS)
    self.history = lease_history.new(client, namespace, "shop")
    self.timers = {
        kubelua.every(1.5, function() self:feed() end),
        kubelua.every(0.3, function() -- so that a renewal meets a conflict now and then
            self.ticks = (self.ticks or 0) + 1
            client:patch("leases", namespace .. "/shop",
                { metadata = { labels = { touched = tostring(self.ticks) } } })
        end),
    }
    return self
end

---Gives each rival a fresh token, except those whose token is to expire.
function Rivals:feed()
    local token, seconds = self.server.token()
    for _, rival in pairs(self.running) do
        if not rival.starves then
            replace(rival.credential .. ".expires", core.timestamp(core.unix() + seconds))
            replace(rival.credential, token)
        end
    end
end

local function connect_text(self, rival, source)
    if source == "file" then
        return string.format("server = %q, insecure = true, token_file = %q", self.server.url,
            rival.credential)
    end
    write(rival.credential .. ".sh", PLUGIN)
    write(rival.credential .. ".config", core.encode {
        apiVersion = "v1", kind = "Config", ["current-context"] = "c",
        clusters = { { name = "c", cluster = { server = self.server.url,
            ["insecure-skip-tls-verify"] = true } } },
        contexts = { { name = "c", context = { cluster = "c", user = "u" } } },
        users = { { name = "u", user = { exec = {
            apiVersion = "client.authentication.k8s.io/v1", interactiveMode = "Never",
            command = "sh", args = { rival.credential .. ".sh", rival.credential } } } } },
    })
    return string.format("kubeconfig = %q", rival.credential .. ".config")
end

---Starts another rival.
---@param source "file"|"plugin" where its token comes from
---@return string identity
function Rivals:start(source)
    self.count = self.count + 1
    local identity = "p" .. self.count
    local rival = { credential = self.folder .. identity, clock = self.folder .. identity .. "c" }
    self.running[identity] = rival
    write(rival.clock, "5")
    self:feed()
    local connect = connect_text(self, rival, source)
    rival.process = processes.start(
        lease_history.script(connect, self.namespace, "shop", identity, TIMES),
        string.format("KUBELUA_LOG=info KUBELUA_CLOCK_STEP=%s LD_PRELOAD=%s", rival.clock,
            (os.getenv("LD_PRELOAD") or "") .. ":" .. CLOCK))
    return identity
end

---Moves a rival's clock by `how` days (-5 to 4), or stops it ("s").
function Rivals:set_clock(identity, how)
    write(self.running[identity].clock, how == "s" and "s" or tostring(how + 5), "r+")
end

---@return string output of the rival so far
function Rivals:said(identity)
    return self.running[identity].process:said()
end

---How often a rival has run its plugin.
function Rivals:plugin_runs(identity)
    local count, file = 0, io.open(self.running[identity].credential .. ".runs")
    if file then
        for _ in file:lines() do
            count = count + 1
        end
        file:close()
    end
    return count
end

local function all_said(self)
    local said = {}
    for identity in pairs(self.running) do
        said[#said + 1] = identity .. ": " .. self:said(identity):sub(-2000)
    end
    return table.concat(said, "\n")
end

-- True if a rival has written all ConfigMaps since the write number `since`.
local function has_written_all(self, identity, since)
    local seen, count = {}, 0
    for i = since + 1, #self.history.writes do
        local one = self.history.writes[i]
        if one.holder == identity and not seen[one.object] then
            seen[one.object], count = true, count + 1
        end
    end
    return count == MAPS
end

---Waits until a rival holds the Lease and has written each object since this call, so no key was
---lost.
---@param but string? a rival that does not count
---@return string identity
function Rivals:await_writer(but)
    local since = #self.history.writes
    return eventually(function()
        local holder = self.history:holder()
        return holder ~= but and self.running[holder] and has_written_all(self, holder, since)
            and holder
    end, function()
        return "another than " .. tostring(but) .. " writes all\n" .. all_said(self)
    end)
end

---Waits until a rival has printed `text`, after the first `after` bytes of its output.
function Rivals:await_said(identity, text, after)
    eventually(function() return self:said(identity):find(text, (after or 0) + 1, true) end,
        function() return identity .. " says '" .. text .. "'\n" .. all_said(self) end)
end

---The rivals that do not lead.
function Rivals:others(leader)
    local others = {}
    for identity in pairs(self.running) do
        if identity ~= leader then
            others[#others + 1] = identity
        end
    end
    table.sort(others)
    return others
end

---Kills a rival with SIGKILL.
function Rivals:kill(identity)
    local rival = self.running[identity]
    self.running[identity] = nil
    rival.process:close()
    for _, suffix in ipairs { "", ".expires", ".runs", ".sh", ".config" } do
        os.remove(rival.credential .. suffix)
    end
    os.remove(rival.clock)
end

function Rivals:close()
    for _, timer in ipairs(self.timers) do
        timer:stop()
    end
    for identity in pairs(self.running) do
        self:kill(identity)
    end
    self.history:stop()
    os.remove(self.folder)
end

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
