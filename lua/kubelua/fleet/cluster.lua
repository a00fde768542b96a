-- A cluster of a fleet, as long as the source names it: when a life of it begins, is given new
-- credentials, ends, or is tried again. life.lua does it. One task a cluster: one that hangs holds
-- up no other.
local Life = require "kubelua.fleet.life"
local lines = require "kubelua.log_lines"
local tasks = require "kubelua.tasks"

---What a source says of a cluster.
---@class kubelua.fleet.Entry
---@field name string
---@field origin string such as "Secret argocd/eu"
---@field options kubelua.ConnectOptions? nil: it cannot be used
---@field problem string? why not
---@field labels table<string, string>?
---@field namespaces string[]?
---@field text string? what a file says now: its options name only its path

---What the ring of a fleet says of a cluster.
---@class kubelua.fleet.ClusterShare
---@field is_wanted fun(): boolean this process is to run it
---@field may_work fun(): boolean it may, at this moment
---@field is_hurried fun(): boolean its end must not wait for runs any more
---@field guard fun(): fun(write: kubelua.Write): true?, string?, string? # the fence of a life
---@field ended fun() its life has ended

---@class kubelua.fleet.Cluster
---@field name string
---@field fleet kubelua.fleet.State
---@field entry kubelua.fleet.Entry? that can be used; nil: the source names it no more
---@field refused string? why the present entry cannot be used
---@field origin string
---@field life kubelua.fleet.Life?
---@field share kubelua.fleet.ClusterShare?
---@field state string
---@field problem string?
---@field code string?
---@field since number Unix time
---@field pause number seconds until the next try after a failure
---@field retry_at number? no life begins before
---@field task kubelua.Task
---@field is_over boolean
local Cluster = {}
Cluster.__index = Cluster

local FIRST_PAUSE, LONGEST_PAUSE = 1, 60

local function tell(self, level, message, ...)
    lines.write(level, self.fleet.what .. ": " .. string.format(message, ...),
        { cluster = self.name })
end

local function enter(self, state, problem, code)
    if self.state ~= state then
        self.fleet.metrics:move(self.name, self.state, state)
        self.state, self.since = state, self.fleet.clock:unix()
    end
    self.problem, self.code = problem, code
end

local function is_wanted(self)
    return self.entry ~= nil and not self.fleet.is_stopped
        and (not self.share or self.share.is_wanted())
end

-- True if both name the same connection, with the same credentials.
local function is_same(a, b)
    for name, value in pairs(a.options) do
        if b.options[name] ~= value then
            return false
        end
    end
    for name in pairs(b.options) do
        if a.options[name] == nil then
            return false
        end
    end
    return a.text == b.text
end

local function fail(self, message, code)
    if self.problem ~= message then
        tell(self, "error", "%s; it is tried again", message)
    end
    local clock = self.fleet.clock
    self.retry_at = clock:now() + self.pause
    self.pause = math.min(self.pause * 2, LONGEST_PAUSE)
    enter(self, "failed", message, code)
end

local function begin(self)
    enter(self, "starting", self.problem, self.code)
    local ok, life, message, code = pcall(Life.begin, self.fleet, self.entry, self.share,
        self.wake, function() return is_wanted(self) end)
    if not ok then -- options of the script that are wrong
        life, message, code = nil, tostring(life), "invalid_argument"
    end
    self.life = life
    if not life and is_wanted(self) then
        fail(self, message, code)
    end
end

local function close(self, seconds)
    local life = self.life
    enter(self, "ending")
    life:finish(seconds, function()
        return self.share ~= nil and self.share.is_hurried()
    end)
    self.life = nil
    if self.share then
        self.share.ended()
    end
end

-- Gives the life other credentials, or ends it: the next one has the new entry.
local function renew(self)
    local ok, message, code = self.life:renew(self.entry)
    if ok then
        tell(self, "info", "it has new credentials (%s)", self.entry.origin)
    elseif code == "conflict" then
        tell(self, "info", "it begins anew (%s): %s", self.entry.origin, message)
        close(self, self.fleet.grace)
        self.pause, self.retry_at = FIRST_PAUSE, nil
    else
        tell(self, "warn", "%s: %s; it goes on as it was", self.entry.origin, message)
        self.refused, self.entry = message, self.life.entry
    end
end

-- Of a cluster that is handed over, runs have as long as the ring can wait.
local function seconds_to_end(self)
    local is_handed_over = self.entry and not self.fleet.is_stopped
    return is_handed_over and self.fleet.ring:patience() or self.fleet.grace
end

local function look_at_life(self)
    local life = self.life
    if life.is_revoked or not is_wanted(self) then
        tell(self, "info", self.entry and not self.fleet.is_stopped and "it is another member's"
            or "it ends")
        close(self, seconds_to_end(self))
    elseif life.problem then
        local problem = life.problem
        close(self, 0)
        fail(self, problem, "error")
    elseif not is_same(life.entry, self.entry) then
        renew(self)
    elseif life.has_begun and self.state == "starting" then
        enter(self, "running")
        self.pause = FIRST_PAUSE
        tell(self, "info", "it runs (%s)", self.entry.origin)
    else
        return true
    end
end

-- Does one step. True: nothing is left to do before something changes.
local function look(self)
    if self.life then
        return look_at_life(self)
    elseif not self.entry and not self.refused or self.fleet.is_stopped then
        self.is_over = true
        return true
    elseif not self.entry then
        enter(self, "refused", self.refused, "config")
    elseif not is_wanted(self) then
        enter(self, "waiting")
    elseif self.retry_at and self.fleet.clock:now() < self.retry_at then
        self.fleet.clock:at(self.retry_at, self.wake)
    else
        self.retry_at = nil
        begin(self)
        return false
    end
    return true
end

local function run_cluster(self)
    while not self.is_over do
        local ok, result = pcall(look, self)
        if not ok then
            tell(self, "error", "%s", tostring(result))
            self.fleet.clock:at(self.fleet.clock:now() + 1, self.wake)
        end
        if (not ok or result) and not self.is_over then
            tasks.park()
        end
    end
    self.fleet.metrics:move(self.name, self.state, nil)
    self.fleet:remove(self)
end

---A cluster begins by itself.
---@param fleet kubelua.fleet.State
---@param entry kubelua.fleet.Entry
---@param share kubelua.fleet.ClusterShare?
---@return kubelua.fleet.Cluster
function Cluster.new(fleet, entry, share)
    local self = setmetatable({ name = entry.name, fleet = fleet, share = share,
        pause = FIRST_PAUSE, since = fleet.clock:unix(), origin = entry.origin,
        is_over = false }, Cluster)
    self.wake = function() tasks.wake(self.task) end
    self:set(entry)
    self.task = tasks.task(fleet.what .. ": cluster " .. entry.name, run_cluster, self)
    self.task.outlasts, self.task.doing = true, function() end
    tasks.leave_scope(self.task)
    return self
end

---The source says something new; nil: it names the cluster no more.
---@param entry kubelua.fleet.Entry?
function Cluster:set(entry)
    local refused = entry and entry.problem
    if refused and refused ~= self.refused then
        tell(self, "error", "%s: %s%s", entry.origin, refused,
            self.entry and "; it goes on as it was" or "")
    end
    self.refused = refused
    if not refused then
        if entry and self.entry and not is_same(entry, self.entry) then
            self.retry_at, self.pause = nil, FIRST_PAUSE
        end
        self.entry = entry
    end
    self.origin = entry and entry.origin or self.origin
    if self.task then
        self.wake()
    end
end

---@class kubelua.FleetClusterStatus
---@field name string
---@field origin string
---@field state "starting"|"running"|"failed"|"refused"|"waiting"|"ending"
---@field problem string?
---@field code string?
---@field since number Unix time
---@field controllers kubelua.ControllerStatus[]

---@return kubelua.FleetClusterStatus
function Cluster:status()
    local problem, code = self.problem, self.code
    if self.refused then
        problem, code = self.refused, "config"
    elseif self.life and not problem then
        problem, code = self.life:complaint()
    end
    return { name = self.name, origin = self.origin, state = self.state or "starting",
        problem = problem, code = code, since = self.since,
        controllers = self.life and self.life:controller_statuses() or {} }
end

return Cluster
