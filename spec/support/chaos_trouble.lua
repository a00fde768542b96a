-- The trouble of the chaos in spec/nginx/chaos_spec.lua: with nginx's processes, and with the API
-- server. Each call ends when nginx has got over it, and returns what was done.
local await = require("chaos_judge").await
local copies = require "nginx_copies"
local kubelua = require "kubelua"

local chaos_trouble = {}

---@class spec.ChaosTrouble
---@field world spec.GatewayWorld
---@field judge spec.ChaosJudge
---@field random fun(most: integer): integer
local Trouble = {}
Trouble.__index = Trouble

---@param fields table
---@return spec.ChaosTrouble
function chaos_trouble.new(fields)
    return setmetatable(fields, Trouble)
end

local function owner_of(self)
    return await(function()
        local said = copies.shell("curl -s -m 2 http://127.0.0.1:" .. self.world.admin_port
            .. "/metrics")
        local pid = said:match("\nkubelua_owner_pid (%d+)")
        return pid and pid ~= "0" and copies.shell("kill -0 " .. pid) == "" and pid
    end, "a worker is the owner")
end

---nginx reloads.
function Trouble:reload()
    self.world.one:reload()
end

---The owner is killed.
function Trouble:kill_owner()
    self.world.one:signal("KILL", owner_of(self))
end

---Another worker is killed.
function Trouble:kill_worker()
    local owner, pids = owner_of(self), self.world.one:workers()
    for _ = 1, #pids do
        local pid = pids[self.random(#pids)]
        if pid ~= owner then
            return self.world.one:signal("KILL", pid)
        end
    end
end

---The owner stands still for a moment.
function Trouble:stop_owner()
    local owner = owner_of(self)
    self.world.one:signal("STOP", owner)
    kubelua.sleep(0.3)
    self.world.one:signal("CONT", owner)
end

-- Ends once the new master's map is complete. Its workers exist before: they wait for the map in
-- init_worker, and what they read of a Secret then is all that they know of it.
local function upgrade_binary(self)
    local one = self.world.one
    local old = one:master()
    one:signal("USR2")
    await(function()
        local new = one:master()
        return new and new ~= old and #one:workers(new) == 2
    end, "a new master starts")
    one:signal("QUIT", old)
    await(function()
        return #one:workers(old) == 0
    end, "the old workers exit")
    await(function()
        return copies.shell(("curl -s -m 2 -o /dev/null -w '%%{http_code}' "
            .. "http://127.0.0.1:%d/readyz"):format(self.world.admin_port)) == "200"
    end, "the new workers have read the cluster")
end

---A new binary takes over.
function Trouble:upgrade()
    self.judge:during_upgrade(function()
        upgrade_binary(self)
    end)
end

---The simulated API server refuses connections for a while.
function Trouble:away()
    self.world.sim:refuse(true)
    kubelua.sleep(0.3 + self.random(10) / 10)
    self.world.sim:refuse(false)
end

---The simulated API server is silent for a while.
function Trouble:silent()
    self.world.sim:freeze(true)
    kubelua.sleep(0.3 + self.random(10) / 10)
    self.world.sim:freeze(false)
end

---Watches break.
function Trouble:cut()
    self.world.sim:cut()
end

---Watches break, and the versions that they would resume from are gone.
function Trouble:compact()
    self.world.sim:compact()
    self.world.sim:cut()
end

---All is listed anew, and lists are cut within.
function Trouble:cut_lists()
    for _, resource in ipairs { "httproutes.gateway.networking.k8s.io", "services", "secrets",
        "ingresses.networking.k8s.io", "endpointslices.discovery.k8s.io" } do
        self.world.sim:cut { resource = resource, after_bytes = 400, open = false, count = 2 }
    end
    self:compact()
    kubelua.sleep(0.5)
    self.world.sim:heal()
end

---A kind is listed later than the others.
function Trouble:late_list()
    self.world.sim:delay { resource = "httproutes.gateway.networking.k8s.io", before = 0.5 }
    self:kill_owner()
end

return chaos_trouble
