-- Processes that compete for a Lease, each with a token that can expire, and with a wall clock that
-- can be moved (spec/support/preload/clock_step.c). The token comes from a file, or from a plugin
-- that says when it expires.
local core = require "kubelua.core"
local eventually = require "eventually"
local kubelua = require "kubelua"
local lease_history = require "lease_history"
local processes = require "processes"

local rivals = {}
rivals.__index = rivals

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
function rivals.new(client, namespace, server)
    local self = setmetatable({ namespace = namespace, server = server, running = {}, count = 0,
        folder = os.tmpname() }, rivals)
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
function rivals:feed()
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
function rivals:start(source)
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
function rivals:set_clock(identity, how)
    write(self.running[identity].clock, how == "s" and "s" or tostring(how + 5), "r+")
end

---@return string output of the rival so far
function rivals:said(identity)
    return self.running[identity].process:said()
end

---How often a rival has run its plugin.
function rivals:plugin_runs(identity)
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
function rivals:await_writer(but)
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
function rivals:await_said(identity, text, after)
    eventually(function() return self:said(identity):find(text, (after or 0) + 1, true) end,
        function() return identity .. " says '" .. text .. "'\n" .. all_said(self) end)
end

---The rivals that do not lead.
function rivals:others(leader)
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
function rivals:kill(identity)
    local rival = self.running[identity]
    self.running[identity] = nil
    rival.process:close()
    for _, suffix in ipairs { "", ".expires", ".runs", ".sh", ".config" } do
        os.remove(rival.credential .. suffix)
    end
    os.remove(rival.clock)
end

function rivals:close()
    for _, timer in ipairs(self.timers) do
        timer:stop()
    end
    for identity in pairs(self.running) do
        self:kill(identity)
    end
    self.history:stop()
    os.remove(self.folder)
end

return rivals
