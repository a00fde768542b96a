-- Requests of scripts. client:request and all verbs call `requests.send`. In a task it suspends the
-- task until the reply is there; outside of tasks it dispatches events meanwhile.
local core = require "kubelua.core"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"
local query = require "kubelua.query"
local scopes = require "kubelua.scope"
local scheduler = require "kubelua.scheduler"
local sources = require "kubelua.sources"
local tasks = require "kubelua.tasks"
local trace = require "kubelua.trace"
local waiting = require "kubelua.waiting"

---What client:request takes.
---@class kubelua.Request
---@field method? string default: "GET"
---@field path string such as "/version"; percent-encoded where that is needed
---@field query? table<string, string|number|boolean> parameters; they are encoded here
---@field headers? table<string, string>
---@field body? string|table|kubelua.Object a table or a view is sent as JSON
---@field timeout? number seconds of the whole call, retries included; default: 30

local TYPES = {
    method = "string", path = "string", query = "table", headers = "table",
    body = "string|table|userdata", timeout = "number",
}

---What client:request returns.
---@class kubelua.Reply
---@field status integer the HTTP status
---@field body string
---@field headers table<string, string> by name, in lower-case letters

-- Seconds: the shortest timeout that the core is given. The core takes 0 for its default, but a
-- script that says 0 wants no wait.
local SHORTEST = 0.001

local requests = {
    -- Seconds: at the end of a run, a write of a leader that was sent may take this long to be
    -- answered. Then the Lease can be released after it. The end of a run takes 0.8 s at most, and
    -- the release needs some of it. Specs change it.
    FINISH = 0.5,
    -- Set by kubelua run --dry-run: takes every request, and sends it by `exchange`, or another one
    -- instead. nil: requests are sent as they are. `webhooks` is the same, of kubelua.sim.webhooks.
    ---@alias kubelua.Takes fun(client, call, name, exchange): kubelua.Reply?, string?, string?
    trial = nil, ---@type kubelua.Takes?
    webhooks = nil, ---@type kubelua.Takes?
    observed = function(_, _) end, -- called with the client and each call: for kubelua plan
}

---Raises unless the options of a request are correct.
---@param given kubelua.Request
function requests.check(given)
    options.check("request", given, TYPES)
    if given.path == nil then
        misuse("request needs a path, such as \"/version\"")
    end
end

-- Splits the headers for the core: those that it has a field for, and an array of all others. The
-- Authorization of an API server comes from the client's configuration.
local function split_headers(headers, takes_authorization)
    local known, others = {}, {}
    for name, value in pairs(headers or {}) do
        if type(name) ~= "string" or (type(value) ~= "string" and type(value) ~= "number") then
            misuse("request: headers are texts by name, such as { Accept = \"text/plain\" }")
        end
        local lower = name:lower()
        if lower == "content-type" or lower == "accept"
            or (lower == "authorization" and takes_authorization) then
            known[lower] = tostring(value)
        else
            others[#others + 1] = name
            others[#others + 1] = tostring(value)
        end
    end
    return known, others
end

local NONE = {}

-- The request as core.request_send takes it. KubeLua's own calls may name its content type: `type`.
local function build_call(given, streams)
    local known, others = NONE, nil
    if given.headers then
        known, others = split_headers(given.headers, given.takes_authorization)
    end
    local body = given.body
    if body ~= nil and type(body) ~= "string" then
        body = core.encode(body)
    end
    local timeout = given.timeout
    if timeout and timeout >= 0 then
        timeout = math.max(timeout, SHORTEST)
    end
    return {
        method = given.method or "GET", target = query.target(given.path, given.query),
        body = body, type = given.type or known["content-type"], accept = known.accept,
        headers = others or {},
        authorization = known.authorization,
        timeout = timeout, send_by = given.send_by, no_retry = given.no_retry, streams = streams,
        may_finish = given.may_finish, is_brief = nil,
    }
end

---A request in flight: from core.request_send to its reply.
---@class kubelua.Flight
---@field id integer the poller returns this number when the request has news: see sources.lua
---@field name string of the call that waits, for messages
---@field client kubelua.Client
---@field request userdata
---@field has_lost_client boolean? its client was closed in this state only
---@field task kubelua.Task? the task that waits for it
---@field is_closed boolean? the request was freed, or will be
---@field is_brief boolean? the reply is read by verbs/replies.lua only: see core.request_result
---@field may_finish boolean? the end of a run does not cancel it at once: see FINISH
local Flight = {}
Flight.__index = Flight

-- Seconds: cancelling a request may take this long at most.
local CANCEL = 0.2

-- The set of requests that wait for a reply. Streams whose head has arrived are not in it.
local pending = {}

-- The set of requests that were not freed.
local open = setmetatable({}, { __mode = "k" })

---Wakes the task that waits: the request has news. sources.lua calls it.
function Flight:pull()
    if self.task then
        tasks.wake(self.task)
    end
end

---Ends the requests of a client that other Lua states share, as its close does for others.
---@param client kubelua.Client
function requests.end_all(client)
    for flight in pairs(open) do
        if flight.client == client then
            flight.has_lost_client = true
            core.request_cancel(flight.request)
        end
    end
end

---True while a request waits for a reply that may come at any moment.
---@return boolean
function requests.are_pending()
    return next(pending) ~= nil
end

---Forgets the requests that wait: they will get no reply.
function requests.forget_pending()
    pending = {}
end

---Sends a request.
---@param client kubelua.Client
---@param call table of core.request_send
---@param name string
---@return kubelua.Flight?, string?, string?
function Flight.begin(client, call, name)
    local task = tasks.current(name)
    if task and task.is_cancelled then
        return nil, tostring(trace.CANCELED), "canceled"
    end
    requests.observed(client, call)
    local tag = task and task.scope and task.scope:run_tag(client)
    if tag then
        local headers = call.headers
        headers[#headers + 1], headers[#headers + 2] = scopes.RUN_HEADER, tag
    end
    local self = setmetatable({ id = sources.new_id(), name = name, client = client,
        may_finish = call.may_finish, task = task, is_brief = call.is_brief, request = nil,
        is_closed = nil }, Flight)
    local message, code
    self.request, message, code = core.request_send(client, call, tasks.poller, self.id)
    if not self.request then
        return nil, message, code
    end
    open[self] = true
    return self
end

-- Cancels the request of a cancelled task: at once, or later. Returns the timer if it is later.
local function cancel_request(self)
    if self.may_finish and self.task.is_ended then
        return scheduler.at(core.now() + requests.FINISH, function()
            core.request_cancel(self.request)
        end)
    end
    core.request_cancel(self.request)
    return nil
end

-- If the task is cancelled, so is the request: it is then complete almost at once.
local function wait_in_task(self, is_over)
    local is_cancelled, timer = false, nil
    while not is_over(self) do
        if is_cancelled then
            tasks.suspend_anyway()
        elseif tasks.suspend() then
            is_cancelled = true
            timer = cancel_request(self)
        end
    end
    if timer then
        timer.cancelled = true
    end
end

local function wait_outside(self, is_over)
    waiting.await(self.name, nil, function() return is_over(self) end, function()
        if not is_over(self) then
            core.request_cancel(self.request)
            core.request_wait(self.request, CANCEL)
        end
    end)
end

---Waits until `is_over(self)` is true. It is called again after each event. While a request
---waits, the loop is not idle: see scheduler.is_idle.
---@param is_over fun(self: kubelua.Flight): boolean
function Flight:wait(is_over)
    sources.add(self.id, self)
    local ok, problem = pcall(self.task and wait_in_task or wait_outside, self, is_over)
    sources.remove(self.id)
    if not ok then
        self:close()
        error(problem, 0)
    end
end

local function is_complete(self)
    return core.request_is_complete(self.request)
end

---Waits for the reply; if it is a stream, for its head only.
---@return kubelua.Reply?, string?, string?
function Flight:reply()
    pending[self] = true
    self:wait(is_complete)
    pending[self] = nil
    return self:outcome(core.request_result(self.request, self.is_brief))
end

---The results of a call of core on the request: a request that its client's end has cancelled is
---"closed".
---@param result any
---@return any, string?, string?
function Flight:outcome(result, message, code)
    if code == "canceled" and self.has_lost_client then
        return nil, "the client was closed", "closed"
    end
    return result, message, code
end

---Frees the request; cancels it if it is in flight.
function Flight:close()
    self.is_closed, pending[self], open[self] = true, nil, nil
    core.request_free(self.request)
end

---A reply that is read as it arrives, such as the log of a container.
---@class kubelua.Stream
---@field flight kubelua.Flight
---@field is_reading boolean
---@field is_closed boolean
local Stream = {}
Stream.__index = Stream

---@param flight kubelua.Flight a request whose reply has begun: status and headers are there
---@return kubelua.Stream
function Stream.new(flight)
    sources.add(flight.id, flight, true)
    return setmetatable({ flight = flight, is_reading = false, is_closed = false }, Stream)
end

-- Waits until there are bytes, or the end. The condition is asked more than once, so it keeps what
-- it has read.
local function read_more(self)
    local text, message, code = "", nil, nil
    local flight = self.flight
    flight.task = tasks.current(flight.name)
    self.is_reading = true
    flight:wait(function()
        if text == "" then
            text, message, code = flight:outcome(core.request_read(flight.request))
        end
        return text ~= ""
    end)
    self.is_reading = false
    if self.is_closed then
        flight:close()
    else
        sources.add(flight.id, flight, true)
    end
    tasks.end_if_cancelled()
    return text, message, code
end

---The next bytes, as they arrive; nil at the end; nil, message, code if the stream broke.
---@return string?, string?, string?
function Stream:read()
    if self.is_reading then
        misuse("another task is reading this stream already")
    elseif self.is_closed or self.flight.is_closed then
        return nil, "the stream was closed", "closed"
    end
    local text, message, code = core.request_read(self.flight.request)
    if text == "" then
        return read_more(self)
    end
    return text, message, code
end

---Ends the stream. If another task is reading it, that read returns nil, message, "canceled".
function Stream:close()
    if self.is_closed then
        return
    end
    self.is_closed = true
    if self.is_reading then
        core.request_cancel(self.flight.request)
    else
        sources.remove(self.flight.id)
        self.flight:close()
    end
end

-- Sends a request, and waits for the whole reply.
local function exchange(client, call, name)
    local flight, message, code = Flight.begin(client, call, name)
    if not flight then
        return nil, message, code
    end
    local reply
    reply, message, code = flight:reply()
    flight:close()
    return reply, message, code
end

---Sends a request, and waits for the whole reply. Any status is a reply. In a cancelled task it
---returns at once: "canceled" if the request was not sent, "unknown" for a write that was sent. The
---caller then calls tasks.end_if_cancelled(), which raises.
---@param client kubelua.Client
---@param call kubelua.Request and no_retry: a 429 or 503 is returned; send_by: from that time
---of core.boottime on the request is not sent, but fails with "timeout"
---@param name string? of the call that waits, for messages
---@return kubelua.Reply?, string?, string?
function requests.send(client, call, name)
    local built = build_call(call)
    name = name or "client:request"
    local takes = requests.trial or requests.webhooks
    built.is_brief = not takes and call.is_brief
    return (takes or exchange)(client, built, name, exchange)
end

---Sends a request, and waits for the status and the headers of its reply. If the status is 400 or
---more, the call fails, and its fourth result is the reply.
---@param client kubelua.Client
---@param call kubelua.Request its timeout ends when the headers have arrived
---@param name string? of the call that waits, for messages
---@return kubelua.Stream?, string?, string?, kubelua.Reply?
function requests.stream(client, call, name)
    local flight, message, code = Flight.begin(client, build_call(call, true),
        name or "client:request")
    local reply
    if flight then
        reply, message, code = flight:reply()
    end
    if reply and reply.status < 400 then
        return Stream.new(flight)
    elseif flight then
        flight:close()
    end
    tasks.end_if_cancelled()
    if reply then
        message, code = core.status_error(reply.status, reply.body)
    end
    return nil, message, code, reply
end

return requests
