-- Requests of scripts. client:request and all verbs call `requests.send`. In a task it suspends the
-- task; outside of tasks it dispatches events while it waits.
local Flight = require "kubelua.flight"
local Stream = require "kubelua.stream"
local core = require "kubelua.core"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"
local tasks = require "kubelua.tasks"

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

local requests = {}

---Raises unless the options of a request are correct.
---@param given kubelua.Request
function requests.check(given)
    options.check("request", given, TYPES)
    if given.path == nil then
        misuse("request needs a path, such as \"/version\"")
    end
end

-- Percent-encodes text for a query (RFC 3986).
local function encode_query_text(text)
    text = tostring(text)
    if not text:find("[^%w%-._~]") then
        return text
    end
    return (text:gsub("[^%w%-._~]", function(byte)
        return string.format("%%%02X", byte:byte())
    end))
end

---Appends the parameters to a path: encoded, in the order of their names.
---@param path string
---@param query table<string, string|number|boolean>?
---@return string
function requests.target(path, query)
    local parts = {}
    for name, value in pairs(query or {}) do
        parts[#parts + 1] = encode_query_text(name) .. "=" .. encode_query_text(value)
    end
    if #parts == 0 then
        return path
    end
    table.sort(parts)
    return path .. (path:find("?", 1, true) and "&" or "?") .. table.concat(parts, "&")
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

-- The request as core.request_send takes it.
local function build_call(given, streams)
    local known, others = split_headers(given.headers, given.takes_authorization)
    local body = given.body
    if body ~= nil and type(body) ~= "string" then
        body = core.encode(body)
    end
    local timeout = given.timeout
    if timeout and timeout >= 0 then
        timeout = math.max(timeout, SHORTEST)
    end
    return {
        method = given.method or "GET", target = requests.target(given.path, given.query),
        body = body, type = known["content-type"], accept = known.accept, headers = others,
        authorization = known.authorization,
        timeout = timeout, send_by = given.send_by, no_retry = given.no_retry, streams = streams,
        may_finish = given.may_finish,
    }
end

---Sends a request, and waits for the whole answer. Any status is an answer. In a cancelled task it
---returns at once: "canceled" if the request was not sent, "unknown" for a write that was sent. The
---caller then calls tasks.end_if_cancelled(), which raises.
---@param client kubelua.Client
---@param call kubelua.Request and no_retry: a 429 or 503 is returned; send_by: from that time
---of core.boottime on the request is not sent, but fails with "timeout"
---@param name string? of the call that waits, for messages
---@return kubelua.Reply?, string?, string?
function requests.send(client, call, name)
    local flight, message, code = Flight.begin(client, build_call(call), name or "client:request")
    if not flight then
        return nil, message, code
    end
    local reply
    reply, message, code = flight:answer()
    flight:close()
    return reply, message, code
end

---Sends a request, and waits for the head of its answer. A status of 400 or more is a failure: its
---fourth result is the reply.
---@param client kubelua.Client
---@param call kubelua.Request its timeout is that of the head
---@param name string? of the call that waits, for messages
---@return kubelua.Stream?, string?, string?, kubelua.Reply?
function requests.stream(client, call, name)
    local flight, message, code = Flight.begin(client, build_call(call, true),
        name or "client:request")
    local reply
    if flight then
        reply, message, code = flight:answer()
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
