-- client:event records Kubernetes Events: what kubectl describe shows below an object. Recording
-- never waits and never fails: a recorder of each client writes them in the background.
local core = require "kubelua.core"
local document = require "kubelua.events.document"
local loop = require "kubelua.loop"
local Ledger = require "kubelua.events.series"
local log = require "kubelua.log"
local misuse = require "kubelua.misuse"
local options_of = require "kubelua.options"
local requests = require "kubelua.requests"
local tasks = require "kubelua.tasks"
local trace = require "kubelua.trace"
local waiting = require "kubelua.waiting"

local TYPES = { "Normal", "Warning" }

local SENDERS = 4 -- requests at a time
local MOST = 1000 -- series that wait to be written
local TRIES = 12 -- attempts of one write, as in client-go
local FIRST_PAUSE, LONGEST_PAUSE = 1, 30 -- seconds after a failure; doubles
local TIMEOUT = 10 -- seconds of a request
local PATH = "/apis/events.k8s.io/v1/namespaces/"

-- Temporary failures.
local PASSING = { unavailable = true, timeout = true, unknown = true, too_many_requests = true,
    internal = true, canceled = true, unauthorized = true }

---Writes the Events of one client, a few at a time. Events wait in a queue of bounded length; equal
---events become one series. Failures are only logged.
---@class kubelua.events.Recorder
---@field client kubelua.Client
---@field clock kubelua.Clock
---@field queue kubelua.events.Series[] to be written; from `first` to `last`
---@field dropped integer events that will never be written
local Recorder = {}
Recorder.__index = Recorder

---@param client kubelua.Client
---@return kubelua.events.Recorder
function Recorder.new(client)
    return setmetatable({ client = client, clock = tasks.clock_here(), ledger = Ledger.new(),
        queue = {}, first = 1, last = 0, senders = 0, dropped = 0, said = {}, pause = 0,
        may_send_at = -math.huge, waiting = {} }, Recorder)
end

-- Logs something once.
local function say_once(self, subject, text, ...)
    if not self.said[subject] then
        self.said[subject] = true
        log("warn", "events: " .. text, ...)
    end
end

local function drop_series(self, one)
    self.dropped = self.dropped + one.count - one.written
    self.waiting[one] = nil
    self.ledger:forget(one)
end

local start_senders

-- Queues a series for writing.
local function enqueue(self, one)
    if one.is_queued then
        return
    elseif self.last - self.first + 1 >= MOST then
        drop_series(self, one)
        say_once(self, "full", "%d Events wait to be written; new ones are dropped until there "
            .. "is room", MOST)
        return
    end
    one.is_queued = true
    self.last = self.last + 1
    self.queue[self.last] = one
    self.waiting[one] = nil
    start_senders(self)
end

-- Queues a series when its pause is over, if it has something new.
local function enqueue_later(self, one)
    local now = self.clock:now()
    if one.count <= one.written or one.is_queued or self.waiting[one] then
        return
    elseif one.next_at <= now then
        enqueue(self, one)
        return
    end
    self.waiting[one] = self.clock:at(one.next_at, function()
        self.waiting[one] = nil
        enqueue(self, one)
    end)
end

-- Builds the request that writes a series of equal events: it creates the Event, or patches the
-- count of the Event that was created before.
local function build_request(one)
    if one.written > 0 then
        return { method = "PATCH", path = one.path .. "/" .. one.name, timeout = TIMEOUT,
            headers = { ["Content-Type"] = "application/merge-patch+json" },
            body = core.encode { series = document.series(one.count, one.last_unix) } }
    end
    local event = document.new(one.given, one.first_unix)
    event.series = one.count > 1 and document.series(one.count, one.last_unix) or nil
    one.name = one.name or event.metadata.name
    event.metadata.name = one.name
    one.path = PATH .. event.metadata.namespace .. "/events"
    return { method = "POST", path = one.path, body = core.encode(event), timeout = TIMEOUT }
end

-- Returns the code and message of a failure; nil: it was written.
local function write_series(self, one)
    if core.state(self.client, "kubelua.client").is_closed then
        return "closed", "the client is closed"
    end
    local call = build_request(one)
    local reply, problem, problem_code = requests.send(self.client, call, "events")
    if not reply then
        return problem_code, problem
    elseif reply.status < 400 then
        return nil
    end
    local message, code, retry_after = core.status_error(reply.status, reply.body)
    if code == "already_exists" and call.method == "POST" and one.tries then
        return nil -- an earlier attempt has succeeded
    end
    return code, message, retry_after
end

local function handle_failure(self, one, code, message, retry_after)
    one.tries = (one.tries or 0) + 1
    if PASSING[code] and one.tries < TRIES then
        self.pause = math.min(LONGEST_PAUSE, math.max(FIRST_PAUSE, 2 * self.pause))
        self.may_send_at = self.clock:now() + math.max(self.pause, retry_after or 0)
        enqueue(self, one)
    elseif code == "not_found" and one.written > 0 and one.tries < TRIES then
        -- It was deleted; the server deletes Events after an hour.
        one.written, one.name = 0, nil
        enqueue(self, one)
    else
        drop_series(self, one)
        if code == "forbidden" and not message:find("being terminated", 1, true) then
            say_once(self, "forbidden", "%s; this needs the verbs create and patch on events of "
                .. "the group events.k8s.io in the namespace of the object", message)
        elseif code ~= "closed" and code ~= "forbidden" and code ~= "not_found" then
            say_once(self, code, "dropped: %s", message)
        end
    end
end

local function write_next(self)
    local one = self.queue[self.first]
    self.queue[self.first] = nil
    self.first = self.first + 1
    one.is_queued, one.is_sending = false, true
    local count = one.count
    local ok, code, message, retry_after = pcall(write_series, self, one)
    one.is_sending = false
    if not ok and code == trace.CANCELED then
        drop_series(self, one)
        error(trace.CANCELED, 0)
    elseif not ok then
        code, message = "error", tostring(code)
    end
    if code then
        handle_failure(self, one, code, message, retry_after)
        return
    end
    self.pause, one.tries = 0, nil
    self.ledger:was_written(self.clock:now(), one, count)
    enqueue_later(self, one)
end

-- Waits until the pause after a failure is over.
local function wait_for_pause(self, task)
    local timer = self.clock:at(self.may_send_at, function() tasks.wake(task) end)
    tasks.suspend()
    timer.cancelled = true
    tasks.end_if_cancelled()
end

local function send_all(self)
    while self.first <= self.last do
        if self.clock:now() < self.may_send_at then
            wait_for_pause(self, tasks.task_here())
        else
            write_next(self)
        end
    end
    self.said.full = nil
end

-- Starts tasks that send, as many as there is work for.
function start_senders(self)
    if self.senders >= math.min(SENDERS, self.last - self.first + 1) then
        return
    end
    self.senders = self.senders + 1
    local task = tasks.task("events", send_all, self)
    tasks.leave_scope(task)
    tasks.leave_script(task)
    task.clock, task.at_end = self.clock, true
    task.on_over = function() self.senders = self.senders - 1 end
end

---True if nothing is to be written before time passes.
---@return boolean
function Recorder:is_at_rest()
    return self.clock:now() < self.may_send_at or (self.senders == 0 and self.first > self.last)
end

---Records an event.
---@param given kubelua.events.Given
function Recorder:record(given)
    local key, object = document.keys(given)
    local one, is_new = self.ledger:happened(self.clock:now(), key, object)
    if not one then
        self.dropped = self.dropped + 1
        say_once(self, "spam", "%s %s has had 25 Events; from now on one is written every 5 "
            .. "minutes, and the others are dropped", given.reference.kind, given.reference.name)
        return
    end
    one.last_unix = self.clock:unix()
    if is_new then
        one.given, one.first_unix = given, one.last_unix
    end
    if not one.is_sending then
        enqueue_later(self, one)
    end
end

---Writes now what waits for a pause to end; true once there is nothing left to write.
---@return boolean
function Recorder:flush()
    for one, timer in pairs(self.waiting) do
        timer.cancelled = true
        one.next_at = -math.huge
    end
    local paused = self.waiting
    self.waiting = {}
    for one in pairs(paused) do
        enqueue(self, one)
    end
    return self.senders == 0 and self.first > self.last
end

local events = {}

-- Recorders that may still have events to write when a run ends; a weak set.
local recorders = setmetatable({}, { __mode = "k" })

loop.on_end(function()
    local function is_done()
        local all = true
        for recorder in pairs(recorders) do
            all = recorder:flush() and all
        end
        return all
    end
    while not is_done() do
        waiting.sleep(0.01)
    end
end)

local function check_event(call, reference, type_of_event, reason)
    if not reference then
        misuse("%s: the object that it is about expected, with apiVersion, kind and metadata.name",
            call)
    elseif type_of_event ~= "Normal" and type_of_event ~= "Warning" then
        local nearest = type(type_of_event) == "string" and options_of.nearest(type_of_event, TYPES)
        misuse("%s: the type is \"Normal\" or \"Warning\", not %s%s", call,
            type(type_of_event) == "string" and "\"" .. type_of_event .. "\""
            or "a " .. type(type_of_event),
            nearest and "; do you mean \"" .. nearest .. "\"?" or "")
    elseif type(reason) ~= "string" or reason == "" then
        misuse("%s: a reason expected, one word for programs such as \"FailedMount\"", call)
    end
end

---Records an event about an object. Raises for mistakes of the script only.
---@param client kubelua.Client
---@param object table with apiVersion, kind and metadata
---@param type_of_event "Normal"|"Warning"
---@param reason string one word, such as "FailedMount"
---@param message any what people read; up to 1,024 bytes of it
---@param options { controller: string?, call: string? }? controller: its reporter; call: for
---messages
function events.record(client, object, type_of_event, reason, message, options)
    options = options or {}
    local state = core.state(client, "kubelua.client")
    local reference = document.reference(object)
    check_event(options.call or "event", reference, type_of_event, reason)
    if state.is_closed then
        return
    end
    if not state.recorder then
        state.recorder = Recorder.new(client)
        recorders[state.recorder] = true
    end
    state.recorder:record(document.given(reference, type_of_event, reason,
        message == nil and "" or tostring(message), options.controller))
end

---@class kubelua.Client
local Client = {}

---Records an Event about an object, for people: kubectl describe shows it. Never waits and never
---fails: an event that cannot be written is logged. Equal events within 10 minutes become one
---series.
---@param object table
---@param type_of_event "Normal"|"Warning"
---@param reason string one word, such as "FailedMount"
---@param message any what people read; up to 1,024 bytes of it
function Client:event(object, type_of_event, reason, message)
    events.record(self, object, type_of_event, reason, message, { call = "client:event" })
end

events.methods = Client

return events
