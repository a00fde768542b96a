-- Runs a script against a simulated cluster whose clock jumps from timer to timer, and notes what
-- it asks for: each request, informer, timer and Lease, with the line of the script. For kubelua
-- plan. Nothing reaches a real API server; other HTTP calls, programs and written files are refused
-- (refusals.lua), but for --real.
local ask_webhooks = require "kubelua.cli.plan.asked_webhooks"
local asked = require "kubelua.cli.plan.asked"
local clients = require "kubelua.client"
local core = require "kubelua.core"
local coverage = require "kubelua.cli.plan.coverage"
local declared = require "kubelua.cli.plan.declared"
local informer_parts = require "kubelua.informer.parts"
local loop = require "kubelua.loop"
local NotedTimers = require "kubelua.cli.plan.noted_timers"
local refusals = require "kubelua.cli.plan.refusals"
local requests = require "kubelua.requests"
local running = require "kubelua.running"
local scheduler = require "kubelua.scheduler"
local scopes = require "kubelua.scope"
local state_of = require("kubelua.simcore").state
local stage = require "kubelua.cli.plan.script_stage"
local tasks = require "kubelua.tasks"
local trace = require "kubelua.trace"
local waiting = require "kubelua.waiting"

---What the rehearsal of a script has shown.
---@class kubelua.Rehearsal
---@field asked kubelua.Asked
---@field coverage kubelua.Coverage
---@field timers kubelua.NotedTimers
---@field leases { namespace: string, name: string }[]
---@field unled string[] names of controllers without `leader`
---@field seconds number how far the cluster's clock has gone
---@field finalizers { kind: kubelua.Kind, namespaces: (string|false)[] }[] of controllers
---@field failures string[] of controllers, once nothing new happens
---@field failed_keys table<string, true> that are among them
---@field unsent kubelua.UnsentRequest[] what other objects would have caused
---@field refusals kubelua.Refusals what the script may not do
---@field patience integer timers in a row without news, after which it ends
---@field objects kubelua.PlanObject[] that the cluster had before the script began
---@field kinds table<string, kubelua.Kind> by "apps/v1/Deployment": of objects and owners
---@field cluster kubelua.Sim
---@field clock kubelua.Clock of the cluster; with `heap`, its timers
---@field other kubelua.Sim? takes the place of every other API server that the script connects to
---@field new_cluster fun(): kubelua.Sim?, string?, kubelua.PlanObject[]?
---@field informers { informer: kubelua.Informer, line: string?, sim: kubelua.Sim }[]
---@field states kubelua.controller.State[] its controllers
---@field namespaces table<string, true> that were created because a client of the script has them
---@field unobserved fun() # the value of requests.observed before the rehearsal
---@field main thread the main part of the script
---@field failed any its error
---@field is_busy boolean it has sent something since the cluster was at rest
---@field news integer grows with each new request
---@field known integer the value of count_known when something new was seen last
---@field since number a time of core.now: when that was
---@field quiet integer how many timers have fired since then
---@field is_sleeping boolean the main part sleeps
---@field till number a time of core.now: it ends then
---@field duration number? seconds of the cluster's clock

local rehearsal = {}

-- The rehearsal ends when so many timers in a row have shown nothing new, or in so many real
-- seconds (not while the main part sleeps: on a slow machine what follows would be missed). With
-- --real each of them may start programs and the like, so they are fewer.
local QUIET_TIMERS, QUIET_REAL_TIMERS, QUIET_SECONDS = 1000, 50, 2

-- The timers of a leader's Lease never end. If no other timer is left, the rehearsal ends when so
-- many of them in a row have shown nothing new: after about 200 s of the cluster's clock, in which
-- the Lease of another holder expires, too. Each of them is a request, which takes about 2 ms.
local QUIET_LEASE_TIMERS = 100

-- Real seconds after which a script that does not return, or never settles, is given up.
local LONGEST = 60
local LATE = "the script did not return within " .. LONGEST .. " s"

local SETTLE = 1 -- real seconds between two looks at a cluster that does not settle
local PATIENCE = 5 -- real seconds without news, after which such a cluster is left
local ROUNDS = 100 -- of the loop, in which cancelled tasks end

local function script_line()
    return scopes.script_line():match("^(.*): $")
end

-- A number that grows with each new request, and with each line that runs for the first time.
local function count_known(self)
    return self.news + self.coverage.count
end

-- True once a timer need not be waited for: the time is over, or nothing new happens any more.
local function is_over(self)
    local now = core.now()
    if count_known(self) > self.known then
        self.known, self.quiet, self.since = count_known(self), 0, now
    end
    if waiting.stopping or now >= self.till then
        return true
    elseif self.duration then
        return self.clock:now() >= self.duration
    end
    if self.quiet >= self.patience then
        return true
    end
    return not self.is_sleeping and (now >= self.since + QUIET_SECONDS
        or self.quiet >= QUIET_LEASE_TIMERS and self.timers:has_only_leases())
end

-- Waits until nothing is left to do before the clock moves. Gives up after PATIENCE seconds without
-- news: the script may wait for something that never comes, such as a kind that does not exist.
local function settle(self)
    local known, till = count_known(self), core.now() + PATIENCE
    local ok
    repeat
        ok = self.cluster:settle(SETTLE)
        if count_known(self) > known then
            known, till = count_known(self), core.now() + PATIENCE
        end
    until ok or waiting.stopping or core.now() >= math.min(till, self.till)
    self.is_busy = false
end

-- Moves the clock to that time; timers fire.
local function jump(self, at)
    local before = self.coverage.count
    self.quiet = self.quiet + 1
    self.cluster:advance(math.max(0, at - self.clock:now()) + 1e-6) -- sums of numbers are inexact
    if self.is_busy or self.coverage.count ~= before or scheduler.has_ready() then
        settle(self)
    end
end

-- Goes from timer to timer.
local function pass_time(self, till)
    while not is_over(self) do
        local first = self.clock.heap:first()
        if not first or first.at > till then
            return
        end
        jump(self, first.at)
    end
end

-- Notes each timer of the cluster's clock. When the main part sleeps, the clock moves; if the main
-- part sleeps in an endless loop, it ends with the rehearsal.
local function watch_clock(self)
    local clock = self.clock
    local add_timer = clock.at
    function clock.at(this, at, fire)
        local timer = add_timer(this, at, fire)
        self.timers:note(at, 2)
        self.timers:mark_lease(timer, 2)
        return timer
    end
    function clock.pass(this, seconds)
        local till = this:now() + seconds
        self.timers:note(till, 2)
        settle(self)
        self.is_sleeping = true
        pass_time(self, till)
        local must_end = is_over(self)
        self.is_sleeping = false
        if must_end then
            error(stage.EXIT, 0)
        end
        jump(self, till)
    end
end

-- Notes each informer when it is made: its requests come from other threads, which know no line of
-- the script.
local function watch_informers(self)
    clients.recorder = {
        attach = function(_, informer)
            local part = informer_parts.informers(informer)[1]
            local client = core.state(part, "kubelua.informer").client
            table.insert(self.informers, { informer = informer, line = script_line(),
                sim = core.state(client, "kubelua.client").sim })
        end,
    }
end

-- Creates the namespace of a client: it exists in the real cluster, since the configuration names
-- it.
local function make_namespace(self, name)
    if not self.namespaces[name] then
        self.namespaces[name] = true
        self.cluster:create { apiVersion = "v1", kind = "Namespace", metadata = { name = name } }
    end
end

local function watch_requests(self)
    clients.elsewhere = function()
        self.other = self.other or assert(self.new_cluster())
        self.asked.elsewhere = true
        return self.other
    end
    self.unobserved = requests.observed
    requests.observed = function(client, call)
        if core.state(client, "kubelua.client").sim ~= self.cluster then
            return
        end
        make_namespace(self, client:namespace())
        local task = tasks.task_here()
        local is_new = self.asked:note(call, { line = script_line(),
            run = task and task.scope and task.scope.run or nil })
        self.is_busy = self.is_busy or not call.target:find("/leases", 1, true)
        self.news = self.news + (is_new and 1 or 0)
    end
end

-- Plays a recording: in at most so many steps, each until everything is at rest.
local STEPS = 200

local function play_recording(self)
    local size = math.max(1, math.ceil(self.cluster:left() / STEPS))
    while self.cluster:left() > 0 and core.now() < self.till do
        self.cluster:step(size)
        settle(self)
    end
end

-- Resumes the main part, which runs as a coroutine, so that kubelua.run can return to the
-- rehearsal. Returns why it failed.
local function resume_main(self)
    local ok, problem = coroutine.resume(self.main)
    problem = not ok and problem or self.failed
    self.failed = nil
    return problem and tostring(problem)
end

local function begin_main(self, chunk, arguments)
    self.main = coroutine.create(function()
        local ok, problem = xpcall(chunk, trace.handler, (table.unpack or unpack)(arguments))
        if not ok and problem ~= stage.EXIT then
            self.failed = problem
        end
    end)
    tasks.mains[self.main] = coroutine.yield
    return resume_main(self)
end

-- At most so many objects are changed and deleted.
local PROVOKED = 200

-- The objects of the manifests that may be changed: namespaces last, as they take others along.
local function list_provoked(self)
    local list, namespaces = {}, {}
    for _, object in ipairs(self.objects) do
        local into = object.kind == "v1/Namespace" and namespaces or list
        if not object.is_fixed and #into < PROVOKED then
            into[#into + 1] = object
        end
    end
    for _, object in ipairs(namespaces) do
        list[#list + 1] = object
    end
    return list
end

-- Changes each object, and then deletes it, so that handlers of changes and deletes run, and
-- finalizers.
local function provoke(self)
    local list = list_provoked(self)
    local touch = { metadata = { annotations = { ["kubelua.plan/touched"] = "true" } } }
    for _, act in ipairs { "patch", "delete" } do
        for _, object in ipairs(list) do
            local key = (object.namespace and object.namespace .. "/" or "") .. object.name
            self.cluster[act](self.cluster, object.kind, key,
                act == "patch" and touch or { grace = 0 })
        end
        self.refusals:forget_tries()
        settle(self)
        self.quiet, self.since = 0, core.now()
        pass_time(self, self.duration or math.huge)
        declared.note_failures(self)
    end
end

-- Runs the script, lets time pass, and then what the script does after kubelua.run. Returns why it
-- failed.
local function perform(self, chunk, options)
    local hopeless = loop.tell_hopeless()
    local problem = begin_main(self, chunk, options.args or {})
    if problem then
        return problem
    end
    settle(self)
    if options.replay then
        play_recording(self)
    end
    self.since = core.now()
    pass_time(self, self.duration or math.huge)
    declared.list_states(self)
    declared.note_failures(self)
    problem = declared.find_unbegun(self)
    if not problem and not waiting.stopping then
        ask_webhooks(self.cluster, self.objects)
        settle(self)
        provoke(self)
    end
    waiting.stopping = false
    if loop.tell_hopeless() ~= hopeless then
        problem = loop.tell_hopeless()
    end
    declared.note_controllers(self)
    declared.note_kinds(self)
    if coroutine.status(self.main) == "suspended" then
        problem = problem or resume_main(self)
    end
    self.seconds = self.clock:now()
    return problem
end

-- Ends what the script has left open: its clients, controllers and tasks.
local function end_script(self)
    for _, cluster in ipairs { self.cluster, self.other } do
        local open = {}
        for client in pairs(state_of(cluster).connected or {}) do
            open[#open + 1] = client
        end
        for _, client in ipairs(open) do
            client:close()
        end
    end
    for _, task in ipairs(running.select(function() return true end)) do
        task:cancel()
    end
    local rounds = 0
    while scheduler.has_ready() and rounds < ROUNDS do
        scheduler.round(0)
        rounds = rounds + 1
    end
    for _, cluster in ipairs { self.cluster, self.other } do
        cluster:close()
    end
end

-- Watches everything; the result undoes it.
local function watch_all(self, options)
    local unset = stage.set(options, self.cluster, self.clock)
    watch_clock(self)
    watch_informers(self)
    watch_requests(self)
    local accept
    local unwatch = declared.watch_calls(self)
    self.refusals, accept = refusals.start(self.clock, options.real)
    self.coverage = coverage.start(stage.own_files(options.script), self.till, LATE)
    return function()
        self.coverage:stop()
        clients.recorder, clients.elsewhere = nil, nil
        requests.observed = self.unobserved
        tasks.clock = scheduler.machine -- that of the cluster stands
        end_script(self)
        waiting.stopping = false
        accept()
        unwatch()
        unset()
    end
end

---Runs a script against a simulated cluster.
---@param options { script: string, args: string[]?, namespace: string?, duration: number?,
---replay: string?, real: boolean? }
---@param new_cluster fun(): kubelua.Sim?, string?, kubelua.PlanObject[]?
---@return kubelua.Rehearsal?, string? problem
function rehearsal.run(options, new_cluster)
    local chunk, message = loadfile(options.script)
    if not chunk then
        return nil, message
    end
    local cluster, objects
    cluster, message, objects = new_cluster()
    if not cluster then
        return nil, message
    end
    local now, clock = core.now(), state_of(cluster).clock
    ---@type kubelua.Rehearsal
    local self = { asked = asked.new(), leases = {}, unled = {}, finalizers = {},
        failures = {}, failed_keys = {}, unsent = {},
        patience = options.real and QUIET_REAL_TIMERS or QUIET_TIMERS,
        kinds = {}, objects = objects, informers = {}, states = {}, news = 0,
        known = 0, quiet = 0, since = now, is_sleeping = false,
        till = now + LONGEST, duration = options.duration, cluster = cluster, clock = clock,
        namespaces = {}, timers = NotedTimers.new(clock), new_cluster = new_cluster,
        is_busy = false, seconds = 0 }
    local undo = watch_all(self, options)
    local ok, problem = pcall(perform, self, chunk, options)
    undo()
    if problem then
        return nil, tostring(problem)
    elseif not ok then
        error("the rehearsal failed without a reason", 0)
    end
    return self
end

return rehearsal
