-- Requests of scripts. `requests.send` is what client:request and all verbs go through: it suspends
-- the task that calls it, and dispatches meanwhile outside of tasks.
local core = require "kubelua.core"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"
local scheduler = require "kubelua.scheduler"

---What client:request takes.
---@class kubelua.Request
---@field method? string default: "GET"
---@field path string "/version"; percent-encoded, where that is needed
---@field query? table<string, string|number|boolean> parameters; they are encoded here
---@field headers? table<string, string>
---@field body? string|table|kubelua.Object a table or view is sent as JSON
---@field timeout? number seconds of the whole call, with its retries; default: 30
local TYPES = {
    method = "string", path = "string", query = "table", headers = "table",
    body = "string|table|userdata", timeout = "number",
}

---What it returns.
---@class kubelua.Reply
---@field status integer of HTTP
---@field body string
---@field headers table<string, string> by their names in lower-case letters

local requests = {}

---Raises unless this is what a request is made of.
---@param given kubelua.Request
function requests.check(given)
    options.check("request", given, TYPES)
    if given.path == nil then
        misuse("request needs a path, such as \"/version\"")
    end
end

-- RFC 3986.
local function escape(text)
    return (tostring(text):gsub("[^%w%-._~]", function(byte)
        return string.format("%%%02X", byte:byte())
    end))
end

---A path with parameters, encoded, in the order of their names.
---@param path string
---@param query table<string, string|number|boolean>?
---@return string
function requests.target(path, query)
    local parts = {}
    for name, value in pairs(query or {}) do
        parts[#parts + 1] = escape(name) .. "=" .. escape(value)
    end
    if #parts == 0 then
        return path
    end
    table.sort(parts)
    return path .. (path:find("?", 1, true) and "&" or "?") .. table.concat(parts, "&")
end

-- What the core takes of it.
local function call_of(given)
    local headers = {}
    for name, value in pairs(given.headers or {}) do
        headers[name:lower()] = value
    end
    local body = given.body
    if body ~= nil and type(body) ~= "string" then
        body = core.encode(body)
    end
    return {
        method = given.method, target = requests.target(given.path, given.query), body = body,
        type = headers["content-type"], accept = headers.accept, timeout = given.timeout,
    }
end

---Sends a request, and waits for the whole answer. Any status is an answer.
---@param client kubelua.Client
---@param call kubelua.Request
---@param name string? of the call that waits, for messages
---@return kubelua.Reply?, string?, string?, number? seconds of Retry-After
function requests.send(client, call, name)
    scheduler.current(name or "client:request")
    local status, body, kind = client:call(call_of(call))
    if not status then
        return nil, body, kind
    end
    return { status = status, body = body, headers = { ["content-type"] = kind } }
end

return requests
