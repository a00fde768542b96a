-- The state of a controller: how it starts, runs and stops. controller.lua is what scripts see.
local applies = require "kubelua.controller.applies"
local cache_of = require "kubelua.controller.cache_of"
local Counts = require "kubelua.controller.counts"
local core = require "kubelua.core"
local dropped = require "kubelua.controller.dropped"
local duty = require "kubelua.controller.duty"
local here = require "kubelua.fleet.here"
local loop = require "kubelua.loop"
local fights = require "kubelua.controller.fights"
local idle = require "kubelua.controller.idle"
local leader = require "kubelua.leader"
local lines = require "kubelua.log_lines"
local Queue = require "kubelua.controller.queue"
local Run = require "kubelua.controller.run"
local Sharding = require "kubelua.controller.sharding"
local scripts = require "kubelua.script"
local source = require "kubelua.controller.source"
local sources = require "kubelua.sources"
local tasks = require "kubelua.tasks"
local triggers = require "kubelua.controller.triggers"
local worker = require "kubelua.controller.worker"
local writes = require "kubelua.controller.writes"

---@class kubelua.controller.State
---@field name string
---@field what string "controller NAME", for messages
---@field where string the line of the script that made it: "foo.lua:5: ", or ""
---@field script kubelua.Script? the script that made it
---@field life kubelua.fleet.Life? of the fleet's cluster that it was made for
---@field cluster string? the name of that cluster
---@field options table checked
---@field client kubelua.Client
---@field clock kubelua.Clock
---@field main kubelua.controller.Source? the reconciled resource
---@field kind table? its kind, once found
---@field sources table<string, kubelua.controller.Source> by name
---@field of_kind table<kubelua.Kind, table> used by cache_of.lua
---@field in_order kubelua.controller.Source[]
---@field queue kubelua.controller.Queue
---@field counts kubelua.controller.Counts
---@field retries kubelua.controller.Queue events for which map or when failed
---@field writes kubelua.controller.Writes
---@field applies kubelua.controller.Applies
---@field unselected kubelua.Informer? see finalizer.lua
---@field memos table<string, kubelua.controller.Kept> by key
---@field terms integer how often this process became the leader
---@field leader table?
---@field sharding kubelua.controller.Sharding? with the option `shards`
---@field runs table<string, kubelua.controller.Record>
---@field running integer
---@field time_limit kubelua.Timer? of the runs
---@field failing table<string, table>
---@field fights kubelua.controller.Fights
---@field since number when it was made, on the clock of core.now
---@field early table<string, { value: string|kubelua.Object, where: string }> by key: what enqueue
---was given before the kind was known, and the line of the script
---@field dropped { count: integer, warned: table<string, table<string, true>> }
---@field is_listed boolean every first list was mapped to keys
---@field is_stopped boolean
local State = {}
State.__index = State

---@param client kubelua.Client
---@param options table checked
---@param list kubelua.controller.Source[]
---@param where string
---@return kubelua.controller.State?, string?, string?
function State.new(client, options, list, where)
    local self = setmetatable({
        name = options.name, what = "controller " .. options.name, where = where, options = options,
        client = client, clock = tasks.clock_here(), in_order = list, sources = {},
        of_kind = setmetatable({}, { __mode = "k" }),
        memos = {}, terms = 0, runs = {}, running = 0, failing = {}, is_listed = false,
        is_stopped = false, unhandled = {}, unhandled_count = 0, dropped = dropped.new(),
        early = {}, fights = fights.new(), since = core.now(), script = scripts.here(),
        life = here.life(), cluster = here.name(),
    }, State)
    for _, one in ipairs(list) do
        self.sources[one.name] = one
        if one.role == "reconciles" then
            self.main = one
        end
    end
    self.wake = function()
        if self.task then
            tasks.wake(self.task)
        end
    end
    local message, code
    for _, name in ipairs { "queue", "retries" } do
        self[name], message, code = Queue.new(self.clock, name == "queue" and options.delay or 0,
            self.wake)
        if not self[name] then
            return nil, message, code
        end
    end
    self.counts, message, code = Counts.new(self.name, self.life)
    if not self.counts then
        return nil, message, code
    end
    self.writes, self.applies = writes.new(self), applies.new(self)
    self.sharding = options.shards and Sharding.new(self) or nil
    self.map_run = Run.new(self) -- without a key; map reads caches through it
    return self
end

-- A key of a first list, or of the first share, must be run once before has_synced is true.
local function expect_key(self, key)
    local is_first = not self.is_listed or (self.sharding and not self.sharding.has_share)
    if is_first and not self.unhandled[key] then
        self.unhandled[key] = true
        self.unhandled_count = self.unhandled_count + 1
    end
end

---The name of a key in the log: "Foo web/a" if the cache has the object, else the key.
---@param key string
---@return string
function State:describe(key)
    local object = self.main and self.main.informer:get(key)
    return object and tostring(object) or key
end

---Adds a key after an event of its own object.
---@param key string
---@param is_rear boolean?
---@return true?, string?, string?
function State:add(key, is_rear)
    if self.sharding and not self.sharding:takes(key) then
        return true
    end
    expect_key(self, key)
    return self.queue:add(key, is_rear)
end

---Adds a key after an event of another object.
---@param key string
---@param is_rear boolean?
---@return true?, string?, string?
function State:add_related(key, is_rear)
    if self.sharding and not self.sharding:takes(key) then
        return true
    end
    expect_key(self, key)
    return self.queue:add_related(key, is_rear)
end

---Notes that a run of the key has ended.
---@param key string
function State:handled(key)
    if self.unhandled[key] then
        self.unhandled[key] = nil
        self.unhandled_count = self.unhandled_count - 1
        if self.unhandled_count == 0 then
            self.unhandled = {} -- a table does not shrink by itself
        end
    end
end

---What a controller remembers about a key between runs. A record is made when it is first needed:
---there may be very many keys, and most scripts use no memo.
---@class kubelua.controller.Kept
---@field uid string? of the key's object
---@field memo table? run.memo, which belongs to the script
---@field came integer? with `shards`: when the part of the key came to this process
---@field statuses table<string, { wanted: string, got: string }>? by UID; see status.lua

---The record of a key; makes it if there is none.
---@param key string
---@param object kubelua.Object? the object with that key
---@return kubelua.controller.Kept
function State:keep(key, object)
    local kept = self.memos[key]
    if not kept then
        kept = { uid = object and object.uid or nil,
            came = self.sharding and self.sharding:came_at(key) }
        self.memos[key] = kept
    end
    return kept
end

---The table run.memo. A run that began before the lease was lost and gained again gets another,
---empty table: what it knows may be outdated.
---@param own { key: string, object: kubelua.Object?, term: integer }
---@return table
function State:memo_of(own)
    if own.term ~= self.terms then
        return {}
    end
    local kept = self:keep(own.key, own.object)
    kept.memo = kept.memo or {}
    return kept.memo
end

---A new term as the leader begins: empties every memo.
function State:begin_term()
    self.terms = self.terms + 1
    for _, kept in pairs(self.memos) do
        kept.memo = nil
    end
end

---True if runs may begin.
---@return boolean
function State:may_run()
    if not self.is_listed or self.is_stopped or loop.is_ending
        or (self.script and not self.script:may_begin()) then
        return false
    end
    return duty.allows_runs(self)
end

---True if keys are run, or would be if there were any: the controller leads, or has its place in
---the ring.
---@return boolean
function State:is_at_work()
    return self:may_run() and (not self.sharding or self.sharding:is_at_work())
end

-- Queues every key, after all others. A key in backoff stays in it.
local function resync_keys(self)
    if not self:may_run() then
        return
    elseif not self.main then
        for key in pairs(self.memos) do
            self:add_related(key, true)
        end
        return
    end
    for _, object in ipairs(self.main.informer:list() or {}) do
        self:add_related(object.key, true)
    end
end

local function arm_resync(self, at)
    self.resync_timer = self.clock:at(at, function()
        resync_keys(self)
        arm_resync(self, math.max(at + self.options.resync, self.clock:now()))
    end)
end

-- Says once that the controller runs, or could: of which kind, where, how many keys, and how long
-- the first lists took.
local function tell_begin(self)
    local kind, what = self.main and self.kind, ""
    if kind then
        what = kind.kind .. " of " .. kind.api_version
            .. cache_of.tell_namespaces(self.main) .. ", "
    end
    local count = self.main and self.main.informer:count() or self.unhandled_count
    local seconds = core.now() - self.since
    lines.write("info", string.format("%s %s: %s%d key%s, synced in %.2f s", self.what,
        self:is_at_work() and "runs" or "stands by", what, count, count == 1 and "" or "s",
        seconds),
        { cluster = self.cluster, controller = self.name,
            fields = { keys = count, seconds = seconds } })
end

-- Sets is_listed once every cache holds its first list, and the list was mapped.
local function check_lists(self)
    for _, one in ipairs(self.in_order) do
        if not source.is_ready(one) then
            return
        end
    end
    self.is_listed = true
    self.queue:set_listed()
    tell_begin(self)
    if self.sharding then
        self.sharding:note_listed()
    end
    if self.options.resync > 0 then
        arm_resync(self, self.clock:now() + self.options.resync)
    end
end

local function finish_stop(self)
    if self.running > 0 or self.is_over then
        return
    end
    self.is_over = true
    self.queue:hide()
    source.close_all(self)
    sources.remove(self.id)
    duty.leave(self)
    if self.forget_end then
        self.forget_end()
    end
    if self.life then
        self.life:remove_controller(self)
    end
end

-- The task of a controller. It never waits for a request.
local function run_controller(self)
    while not self.is_over do
        local ok, problem = pcall(function()
            if self.is_stopped then
                finish_stop(self)
                return
            end
            assert(duty.join(self))
            triggers.retry_due(self)
            if not self.is_listed then
                check_lists(self)
            end
            worker.begin_runs(self)
            self.queue:arm()
            self.retries:arm()
        end)
        if not ok then
            lines.of_controller("error", self, nil, "%s", tostring(problem))
            self.clock:at(self.clock:now() + 1, self.wake)
        end
        tasks.park()
    end
end

---Starts the controller: opens its caches.
---@return true?, string?, string?
function State:start()
    local lease = self.options.leader and leader.options(self.options.leader).name
    local ok, message, code = self.queue:show(self.name, self.options.workers, lease or nil,
        self.cluster)
    if not ok then
        return nil, message, code
    end
    ok, message, code = duty.join(self)
    if ok then
        ok, message, code = source.open_all(self)
    end
    if not ok then
        self.queue:hide()
        source.close_all(self)
        duty.leave(self)
        return nil, message, code
    end
    idle.register(self)
    self.id = sources.new_id()
    sources.add(self.id, self.wake) -- keeps the loop running
    self.task = tasks.task(self.what, run_controller, self)
    self.task.doing, self.task.outlasts = function() end, true
    tasks.leave_scope(self.task)
    source.await_all(self)
    if self.options.leader or self.sharding then
        self.forget_end = loop.on_end(function() duty.leave(self) end)
    end
    return true
end

---Begins no more runs, and cancels the current ones. Its caches end, and its lease is released,
---when the last run has returned.
function State:stop()
    if self.is_stopped then
        return
    end
    self.is_stopped = true
    self.queue:close()
    self.retries:close()
    if self.resync_timer then
        self.resync_timer.cancelled = true
    end
    for _, record in pairs(self.runs) do
        worker.cancel(record, "stopped")
    end
    finish_stop(self)
end

---Ends a controller that can never work.
---@param message string
function State:fail(message)
    if self.life then
        self.life:add_hopeless(self.where, self.what, message)
    else
        loop.add_hopeless(self.where, self.what, message)
    end
    self:stop()
end

return State
