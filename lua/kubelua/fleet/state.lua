-- The state of a fleet: takes what its source says, and begins and ends clusters. fleet.lua is what
-- scripts see, cluster.lua what happens to one cluster.
local Cluster = require "kubelua.fleet.cluster"
local lines = require "kubelua.log_lines"
local Metrics = require "kubelua.fleet.metrics"
local scripts = require "kubelua.script"
local sources = require "kubelua.sources"
local sorted_keys = require "kubelua.sorted_keys"
local tasks = require "kubelua.tasks"

---Where clusters come from.
---@class kubelua.fleet.Source
---@field what string for messages
---@field open fun(self, changed: fun()): true?, string?, string? # from now on, `changed` is called
---when a read may give something new
---@field read fun(self): kubelua.fleet.Entry[]?, string?, string? # may wait. In the order in which
---of two of one name the first has it. nil, message, code: all goes on as it is
---@field interval number? seconds until the next read, if nothing changes earlier
---@field close fun(self)

---@class kubelua.fleet.State
---@field name string
---@field what string "fleet NAME", for messages
---@field call fun(cluster: kubelua.FleetCluster) the function of the script
---@field grace number
---@field source kubelua.fleet.Source
---@field ring kubelua.fleet.Ring? with shards
---@field home kubelua.fleet.Home? if the source or the ring needs it
---@field clusters table<string, kubelua.fleet.Cluster> by name
---@field clashes kubelua.fleet.Entry[] entries whose names others have
---@field clock kubelua.Clock
---@field metrics kubelua.fleet.Metrics
---@field script kubelua.Script?
---@field problem string? of the source
---@field code string?
---@field has_read boolean the source was read once
---@field is_stopped boolean
---@field is_over boolean? nothing of it is left
---@field is_replaced boolean? by another script: abandon() leaves the ring
---@field is_due boolean the source is to be read
local State = {}
State.__index = State

---@param options { name: string, call: function, grace: number, source: kubelua.fleet.Source,
---ring: kubelua.fleet.Ring?, home: kubelua.fleet.Home? }
---@return kubelua.fleet.State
function State.new(options)
    local self = setmetatable({ name = options.name, what = "fleet " .. options.name,
        call = options.call, grace = options.grace, source = options.source,
        ring = options.ring, home = options.home,
        clusters = {}, clashes = {}, clock = tasks.clock_here(),
        metrics = Metrics.new(options.name), script = scripts.here(), has_read = false,
        is_stopped = false, is_due = true }, State)
    self.wake = function()
        if self.task then
            tasks.wake(self.task)
        end
    end
    self.changed = function()
        self.is_due = true
        self.wake()
    end
    return self
end

local function tell_clash(self, entry, first)
    local before = self.told_clashes and self.told_clashes[entry.origin]
    entry.problem = "the name '" .. entry.name .. "' is that of " .. first.origin
        .. "; give one of them another"
    if before ~= entry.problem then
        lines.write("error", self.what .. ": " .. entry.origin .. ": " .. entry.problem)
    end
end

-- The entries by name. Of two, the first has it.
local function by_name(self, entries)
    local found, clashes, told = {}, {}, {}
    for _, entry in ipairs(entries) do
        local first = found[entry.name]
        if first and first.problem and not entry.problem then
            found[entry.name], entry, first = entry, first, entry
        end
        if first then
            tell_clash(self, entry, first)
            clashes[#clashes + 1], told[entry.origin] = entry, entry.problem
        else
            found[entry.name] = entry
        end
    end
    self.clashes, self.told_clashes = clashes, told
    return found
end

-- An entry that cannot be read may have lost its name: it is the cluster that came from there.
local function keep_names(self, entries)
    for _, entry in ipairs(entries) do
        local is_lost = entry.problem and not self.clusters[entry.name]
        for name, cluster in pairs(is_lost and self.clusters or {}) do
            if cluster.origin == entry.origin and cluster.entry then
                entry.name = name
            end
        end
    end
end

---Takes what the source says.
---@param entries kubelua.fleet.Entry[]
function State:take(entries)
    keep_names(self, entries)
    local found = by_name(self, entries)
    for _, name in ipairs(sorted_keys(self.clusters)) do
        self.clusters[name]:set(found[name])
    end
    for _, name in ipairs(sorted_keys(found)) do
        if not self.clusters[name] then
            self.clusters[name] = Cluster.new(self, found[name],
                self.ring and self.ring:share(name))
        end
    end
    if self.ring then
        self.ring:look()
    end
end

---A cluster is over.
---@param cluster kubelua.fleet.Cluster
function State:remove(cluster)
    self.clusters[cluster.name] = nil
    self.changed() -- the source may name it again by now
end

-- Reads the source in a task of its own: the end of a run cancels a function of the script.
local function read(self)
    local result
    local reader = tasks.task(self.what .. ": source", function()
        local ok, entries, message, code = pcall(self.source.read, self.source)
        if ok then
            result = { entries, message, code }
        else
            result = { nil, tostring(entries), "error" }
        end
    end)
    reader.on_over = self.wake
    self.reader = reader
    while not reader.is_over do
        tasks.park()
    end
    self.reader = nil
    return result
end

local function note_problem(self, message, code)
    if message ~= self.problem then
        lines.write(message and "warn" or "info", self.what .. ": " .. (message
            and self.source.what .. ": " .. message .. "; the clusters go on as they are"
            or self.source.what .. ": it can be read again"))
    end
    self.problem, self.code = message, code
end

local function read_and_take(self)
    self.is_due = false
    local result = read(self)
    if self.is_stopped or not result then
        return
    elseif result[1] then
        note_problem(self, nil)
        self:take(result[1])
        self.has_read = true
    else
        note_problem(self, result[2] or "it has returned nothing", result[3] or "error")
    end
    if self.source.interval then
        self.clock:at(self.clock:now() + self.source.interval, self.changed)
    end
end

local function close(self)
    for _, cluster in pairs(self.clusters) do
        cluster.wake()
    end
    while next(self.clusters) do
        tasks.park()
    end
    self.source:close()
    if self.ring and not self.is_replaced then
        self.ring:close()
    end
    if self.home and self.home.is_own then
        self.home.client:close()
    end
    sources.remove(self.id)
    self.is_over = true
end

local function run_fleet(self)
    while not self.is_over do
        local ok, problem = pcall(function()
            if self.is_stopped then
                close(self)
                return
            elseif self.ring then
                assert(self.ring:join(self))
            end
            if self.is_due then
                read_and_take(self)
            end
        end)
        if not ok then
            lines.write("error", self.what .. ": " .. tostring(problem))
            self.clock:at(self.clock:now() + 1, self.changed)
        end
        if not self.is_over and not self.is_stopped and not self.is_due then
            tasks.park()
        end
    end
end

---Begins to watch the source.
---@return true?, string?, string?
function State:start()
    local ok, message, code = self.source:open(self.changed)
    if ok and self.ring then
        ok, message, code = self.ring:join(self)
    end
    if not ok then
        self.source:close()
        return nil, message, code
    end
    self.id = sources.new_id()
    sources.add(self.id, self.wake) -- keeps the loop running
    self.task = tasks.task(self.what, run_fleet, self)
    self.task.outlasts, self.task.doing = true, function() end
    tasks.leave_scope(self.task)
    return true
end

---Ends all clusters, each with its grace.
function State:stop()
    if not self.is_stopped then
        self.is_stopped = true
        if self.reader then
            self.reader:cancel()
        end
        self.wake()
    end
end

---Ends all clusters at once: another script takes over.
function State:hurry()
    self.grace, self.is_replaced = 0, true
    self:stop()
end

---Ends what is left of it, and waits for nothing: its tasks are never resumed. Not for a task of
---its script: another fleet then gets the watch of the ring, which must not end with this script.
function State:abandon()
    if self.ring then
        self.ring:close()
    end
    if not self.is_over then
        self.is_over = true
        self.source:close()
        for name, cluster in pairs(self.clusters) do
            self.metrics:move(name, cluster.state, nil)
        end
        sources.remove(self.id)
    end
end

---@class kubelua.FleetStatus
---@field name string
---@field source { what: string, problem: string?, code: string? }
---@field clusters kubelua.FleetClusterStatus[] by name in order
---@field shards kubelua.ShardsStatus?

---@return kubelua.FleetStatus
function State:status()
    local clusters = {}
    for _, name in ipairs(sorted_keys(self.clusters)) do
        clusters[#clusters + 1] = self.clusters[name]:status()
    end
    for _, entry in ipairs(self.is_stopped and {} or self.clashes) do
        clusters[#clusters + 1] = { name = entry.name, origin = entry.origin, state = "refused",
            problem = entry.problem, code = "conflict", since = self.clock:unix(),
            controllers = {} }
    end
    return { name = self.name, clusters = clusters, source = { what = self.source.what,
        problem = self.problem, code = self.code }, shards = self.ring and self.ring:status() }
end

return State
