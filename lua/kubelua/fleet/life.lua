-- One life of a cluster of a fleet: its client, the call of the script's function, and all that
-- this call has made. When the life ends, nothing of that is left. cluster.lua decides when a life
-- begins and ends.
local clients = require "kubelua.client"
local controllers = require "kubelua.controller"
local core = require "kubelua.core"
local lines = require "kubelua.log_lines"
local scheduler = require "kubelua.scheduler"
local tasks = require "kubelua.tasks"
local trace = require "kubelua.trace"
local waiting = require "kubelua.waiting"

---What the function of a fleet gets.
---@class kubelua.FleetCluster
---@field name string
---@field client kubelua.Client
---@field origin string where it comes from, such as "Secret argocd/eu"
---@field labels table<string, string> of the Secret or the ClusterProfile
---@field namespaces string[]? of Argo CD's Secret

---@class kubelua.fleet.Life
---@field name string of the cluster
---@field fleet string
---@field entry kubelua.fleet.Entry from which its client was made
---@field client kubelua.Client
---@field metrics kubelua.fleet.Metrics
---@field ring kubelua.fleet.Ring?
---@field cluster kubelua.FleetCluster
---@field may_work fun(): boolean true while this process has the cluster
---@field is_wanted fun(): boolean it is to go on
---@field hopeless string? a controller of it can never work
---@field wake fun() wakes the task of the cluster
---@field task kubelua.Task the call of the function
---@field tasks table<kubelua.Task, true> all that end with it, a weak set
---@field owned table<any, fun(thing: any)> what ends with it, and how; weak keys
---@field controllers table<kubelua.controller.State, true> a weak set
---@field is_ending boolean no run begins
---@field is_revoked boolean? it must end, whatever is wanted by now: this process was no member of
---the ring meanwhile, or the function was not called
---@field has_begun boolean the function has returned
---@field problem string? why it must end: the function has raised
local Life = {}
Life.__index = Life

-- Seconds that cancelled tasks have to end; what has not ended then is never resumed.
local TO_END = 5

local WEAK = { __mode = "k" }

-- To open or close a client takes a millisecond or two, in which nothing else has a turn. Of many
-- clusters that come or go at once, others have theirs between: so many seconds at least.
local GAP = 0.0005
local next_turn_at = 0

-- Calls a function that opens or closes a client, or caches.
local function take_turn(f, ...)
    while core.now() < next_turn_at do
        scheduler.pass("fleet")
    end
    local result, message, code = f(...)
    next_turn_at = core.now() + GAP
    return result, message, code
end

local function always()
    return true
end

-- Calls the function of the script, unless the cluster has gone, or is another member's by now.
local function call_function(self, f)
    if self.is_ending or not self.is_wanted() then
        self.is_revoked = true
        self.wake()
        return
    end
    scheduler.count()
    local ok, problem = trace.call(f, self.cluster)
    if ok then
        self.has_begun = true
    elseif problem ~= trace.CANCELED then
        self.problem = problem
    else
        self.problem = "the function was cancelled"
    end
    self.wake()
end

-- Begins the task of the function. Whatever it makes belongs to this life.
local function begin_task(self, f)
    local task = tasks.task("fleet " .. self.fleet .. ": cluster " .. self.name, call_function,
        self, f)
    tasks.leave_scope(task)
    tasks.enter_life(task, self)
    self.task = task
end

local function connect(entry, is_wanted)
    if not is_wanted() then
        return nil, "it is not wanted any more", "canceled"
    end
    return clients.connect_member(entry.name, entry.options)
end

---Connects to a cluster, and starts a task that calls the script's function. Other clusters may
---connect first; if this cluster is not wanted any more by then, nothing is started.
---@param fleet { name: string, call: fun(cluster: kubelua.FleetCluster),
---metrics: kubelua.fleet.Metrics, ring: kubelua.fleet.Ring? }
---@param entry kubelua.fleet.Entry
---@param share kubelua.fleet.ClusterShare? with shards
---@param wake fun()
---@param is_wanted fun(): boolean
---@return kubelua.fleet.Life?, string?, string?
function Life.begin(fleet, entry, share, wake, is_wanted)
    local client, message, code = take_turn(connect, entry, is_wanted)
    if not client then
        return nil, message, code
    end
    local labels = {}
    for name, value in pairs(entry.labels or {}) do
        labels[name] = value
    end
    core.state(client, "kubelua.client").fence = share and share.guard()
    local self = setmetatable({ name = entry.name, fleet = fleet.name, entry = entry,
        client = client, wake = wake, is_wanted = is_wanted, metrics = fleet.metrics,
        ring = fleet.ring,
        may_work = share and share.may_work or always, tasks = setmetatable({}, WEAK),
        owned = setmetatable({}, WEAK), controllers = setmetatable({}, WEAK), is_ending = false,
        has_begun = false, cluster = { name = entry.name, client = client, origin = entry.origin,
            labels = labels, namespaces = entry.namespaces } }, Life)
    begin_task(self, fleet.call)
    return self
end

---Gives the client the credentials of another entry. nil: it needs a new client.
---@param entry kubelua.fleet.Entry
---@return true?, string?, string?
function Life:renew(entry)
    if entry.options.sim or self.entry.options.sim then
        return nil, "a simulated cluster", "conflict"
    end
    local ok, message, code = clients.reauthenticate_member(self.client, entry.options)
    if ok then
        self.entry = entry
    end
    return ok, message, code
end

---Counts a run of a controller.
---@param controller string
---@param result string
function Life:count(controller, result)
    self.metrics:count(self.name, controller, result)
end

---Notes a controller that was made for this life.
---@param state kubelua.controller.State
function Life:add_controller(state)
    self.controllers[state] = true
end

---A controller of it has ended. The set is weak, but the collector may leave a key there whose
---queue it has closed.
---@param state kubelua.controller.State
function Life:remove_controller(state)
    self.controllers[state] = nil
    self.wake()
end

---A controller of it can never work: that is told here, and does not end the process.
---@param where string
---@param what string
---@param message string
function Life:add_hopeless(where, what, message)
    self.hopeless = what .. " can never work: " .. message
    lines.write("error", where .. self.hopeless, { cluster = self.name })
end

---A task of it has ended.
---@param task kubelua.Task
function Life:remove_task(task)
    self.tasks[task] = nil
    if self.is_ending then
        self.wake()
    end
end

---True if runs of its controllers may begin.
---@return boolean
function Life:may_begin_runs()
    return not self.is_ending and self.may_work()
end

---True while a run of its controllers has not ended.
---@return boolean
function Life:is_busy()
    for state in pairs(self.controllers) do
        if state.running > 0 then
            return true
        end
    end
    return false
end

local function has_ended(self)
    return next(self.controllers) == nil and next(self.tasks) == nil
end

-- Waits in the task of the cluster, which each end of a task wakes.
local function await(seconds, condition)
    waiting.await("fleet", seconds, condition, function() end)
end

local function list_keys(set)
    local list = {}
    for key in pairs(set) do
        list[#list + 1] = key
    end
    return list
end

local function stop_controllers(self)
    for _, state in ipairs(list_keys(self.controllers)) do
        state:stop()
    end
end

-- Cancels what goes on, and waits until it has ended.
local function cancel_all(self)
    take_turn(stop_controllers, self) -- their caches end, and their threads
    for _, task in ipairs(list_keys(self.tasks)) do
        task:cancel()
    end
    await(TO_END, function() return has_ended(self) end)
    for _, task in ipairs(list_keys(self.tasks)) do
        lines.write("warn", task.what .. " has not ended within " .. TO_END
            .. " s after the end of its cluster: it is stopped here for good",
            { cluster = self.name })
        tasks.drop(task)
    end
end

---Ends it. Runs have so many seconds to end first, or until `is_hurried()`. For the task of the
---cluster.
---@param seconds number
---@param is_hurried fun(): boolean
function Life:finish(seconds, is_hurried)
    self.is_ending = true
    if self:is_busy() and seconds > 0 then
        await(seconds, function() return not self:is_busy() or is_hurried() end)
    end
    cancel_all(self)
    for _, thing in ipairs(list_keys(self.owned)) do
        local finish = self.owned[thing]
        local ok, problem = pcall(finish or function() end, thing)
        if not ok then
            lines.write("error", "the end of the cluster: " .. tostring(problem),
                { cluster = self.name })
        end
    end
    take_turn(self.client.close, self.client)
end

---The states of its controllers.
---@return kubelua.ControllerStatus[] sorted by name
function Life:controller_statuses()
    local list = {}
    for state in pairs(self.controllers) do
        list[#list + 1] = controllers.status(state)
    end
    table.sort(list, function(a, b) return a.name < b.name end)
    return list
end

---What its watches complain of; nil: of nothing.
---@return string? message, string? code
function Life:complaint()
    if self.hopeless then
        return self.hopeless, "invalid_argument"
    end
    for informer in pairs(clients.informers(self.client)) do
        local status = informer:status()
        if status.error and status.state ~= "stopped" then
            return status.error, status.code
        end
    end
end

return Life
