-- The clusters of a fleet, shared out among the replicas of the script: by their names, over the
-- parts of a ring (kubelua.shards). A cluster is handed over once its life here has ended.
local core = require "kubelua.core"
local loop = require "kubelua.loop"
local misuse = require "kubelua.misuse"
local shards = require "kubelua.shards"

---@class kubelua.fleet.Ring
---@field options table of shards.options
---@field home kubelua.fleet.Home
---@field fleet kubelua.fleet.State
---@field membership kubelua.shards.Membership? nil: this process has not joined yet, or has left
---@field user kubelua.shards.User
---@field parts table<integer, true> those that this process may work on
---@field hurried table<integer, true> those whose runs take too long
---@field is_lost boolean this process is no member any more: its runs must end
---@field forget_end fun()?
local Ring = {}
Ring.__index = Ring

local function wake_all(self)
    for _, cluster in pairs(self.fleet.clusters) do
        cluster.wake()
    end
end

local function is_busy(self, part)
    for name, cluster in pairs(self.fleet.clusters) do
        if cluster.life and core.shard_part(name) == part then
            return true
        end
    end
    return false
end

local function make_user(self)
    return {
        client = self.home.client,
        share = function() end,
        changed = function(parts)
            self.parts = parts
            self.is_lost = self.is_lost and next(parts) == nil
            for part in pairs(parts) do
                self.hurried[part] = nil
            end
            wake_all(self)
        end,
        lost = function()
            self.is_lost = true
            for _, cluster in pairs(self.fleet.clusters) do
                if cluster.life then -- its fence stays shut, also if this process is a member again
                    cluster.life.is_revoked = true
                end
            end
            wake_all(self)
        end,
        is_busy = function(part) return is_busy(self, part) end,
        cancel = function(part)
            self.hurried[part] = true
            wake_all(self)
        end,
    }
end

-- Leaves at the end of a run, unless a run of a controller goes on: then the Lease expires by
-- itself.
local function leave_if_idle(self)
    for _, cluster in pairs(self.fleet.clusters) do
        if cluster.life and cluster.life:is_busy() then
            return
        end
    end
    self:leave()
end

---Joins the ring, in the background; again, if this process has left it at the end of a run.
---@param fleet kubelua.fleet.State
---@return true?, string?, string?
function Ring:join(fleet)
    if self.membership then
        return true
    end
    local message, code
    self.fleet, self.user = fleet, make_user(self)
    self.membership, message, code = shards.join(self.home.client, self.options, self.user)
    if self.membership and not self.forget_end then
        self.forget_end = loop.on_end(function() leave_if_idle(self) end)
    end
    return self.membership and true, message, code
end

---What the ring says of a cluster.
---@param name string
---@return kubelua.fleet.ClusterShare
function Ring:share(name)
    local part = core.shard_part(name)
    return {
        is_wanted = function() return self.parts[part] == true end,
        may_work = function()
            return self.membership ~= nil and self.membership:may_work(part)
        end,
        is_hurried = function() return self.is_lost or self.hurried[part] == true end,
        guard = function() return self.membership:guard(part) end,
        ended = function()
            self.hurried[part] = nil
            self:look()
        end,
    }
end

---True once this process has its whole share, which may be no cluster at all.
---@return boolean
function Ring:has_share()
    return self.membership ~= nil and self.membership:has_share()
end

---Looks at what has ended, or has come.
function Ring:look()
    if self.membership then
        self.membership:look()
    end
end

---Seconds that runs have to end before their cluster is handed over.
---@return number
function Ring:patience()
    return self.options.renew
end

---Leaves the ring.
function Ring:leave()
    if self.membership then
        shards.leave(self.membership, self.user)
        self.membership, self.parts = nil, {}
    end
end

---The fleet has ended.
function Ring:close()
    self:leave()
    if self.forget_end then
        self.forget_end()
    end
end

---@return kubelua.ShardsStatus?
function Ring:status()
    return self.membership and self.membership:status() or nil
end

---Checks the option `shards`. Raises if it is wrong.
---@param given string|kubelua.ShardsOptions
---@return table
function Ring.options(given)
    if type(given) == "table" and given.by ~= nil then
        misuse("kubelua.fleet: shards: clusters are shared out by their names: leave 'by' out")
    end
    return shards.options(given)
end

---@param options table of Ring.options
---@param home kubelua.fleet.Home
---@return kubelua.fleet.Ring
function Ring.new(options, home)
    return setmetatable({ options = options, home = home, parts = {}, hurried = {},
        is_lost = false }, Ring)
end

return Ring
