-- Elections in one process on the fake clock of a simulated cluster: each elector has a client and
-- an identity. Time passes only when a spec says so.
local eventually = require "eventually"
local leader = require "kubelua.leader"
local Sim = require "kubelua.sim"
local simcore = require "kubelua.simcore"

local world = {}
world.__index = world

local STEP = 0.25 -- seconds of the cluster's time

---@param options kubelua.Sim.Options? further ones
function world.new(options)
    local merged = { clock = "fake", now = "2026-01-01T00:00:00Z", no_controllers = true }
    for name, value in pairs(options or {}) do
        merged[name] = value
    end
    local self = setmetatable({ cluster = assert(Sim.new(merged)), clients = {}, joined = {},
        log = {} }, world)
    self.path = os.tmpname()
    local file = assert(io.open(self.path, "w"))
    file:write("local f = ... return f()\n")
    file:close()
    return self
end

---Calls `f` while kubelua uses the cluster's clock.
function world:under_clock(f)
    return self.cluster:run(self.path, f)
end

---@param options table? of Sim:connect
function world:connect(options)
    local client = assert(self.cluster:connect(options))
    self.clients[#self.clients + 1] = client
    return client
end

---An elector with this identity (nil: the process's own), which notes its events.
---@param identity string?
---@param options table? further options of the election
---@param client kubelua.Client? default: one of its own
function world:join(identity, options, client)
    local merged = { name = "foo", identity = identity }
    for name, value in pairs(options or {}) do
        merged[name] = value
    end
    client = client or self:connect()
    local joined = self:under_clock(function() return leader.join(client, merged) end)
    local name = identity or "own"
    joined.on_gain(function() self.log[#self.log + 1] = name .. " gains" end)
    joined.on_loss(function() self.log[#self.log + 1] = name .. " loses" end)
    self.joined[#self.joined + 1] = joined
    return joined
end

-- True while a request for a Lease is under way.
local function is_asking(self)
    for _, candidate in pairs(simcore.state(self.cluster).candidates or {}) do
        if candidate.asks then
            return true
        end
    end
    return false
end

---Lets the electors send requests and get the answers, until they only wait for time to pass.
function world:settle()
    self.cluster:advance(0)
    eventually(function()
        if is_asking(self) then
            return false
        end
        self.cluster:advance(0)
        return not is_asking(self)
    end, "the requests for Leases are answered", 20)
end

---Lets time pass; requests take no time.
function world:pass(seconds)
    self:settle()
    local left = seconds
    while left > 0 do
        self.cluster:advance(math.min(STEP, left))
        left = left - STEP
        self:settle()
    end
end

---The Lease in the cluster; nil if there is none.
function world:lease(namespace)
    return (self.cluster:get("leases", (namespace or "default") .. "/foo"))
end

function world:close()
    self.cluster:heal()
    for _, joined in ipairs(self.joined) do
        joined.release()
    end
    self:settle()
    for _, client in ipairs(self.clients) do
        client:close()
    end
    self.cluster:close()
    os.remove(self.path)
end

return world
