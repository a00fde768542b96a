-- cluster:serve: answers of a test to the HTTP requests of scripts (kubelua.http).
local core = require "kubelua.core"
local misuse = require "kubelua.misuse"
local simcore = require "kubelua.simcore"
local urls = require "kubelua.url"

---@class kubelua.Sim
local methods = {}

---A request of kubelua.http, as the function of cluster:serve gets it.
---@class kubelua.Sim.HttpRequest
---@field method string
---@field url string
---@field path string
---@field query table<string, string> decoded
---@field headers table<string, string> by name, in lower-case letters
---@field body string "" if there is none

---Answers the requests of scripts in this cluster to this URL, and to all below it, until another
---function is given, or none. The function runs in the task that asks, and may wait there. It
---returns { status = 200, headers = {}, body = text or table }, or a text; or nil, message, code:
---the request then fails with these, as if the server were away.
---@param text string
---@param f (fun(request: kubelua.Sim.HttpRequest): table|string|nil, string?, string?)?
function methods:serve(text, f)
    if type(text) ~= "string" or (f ~= nil and type(f) ~= "function") then
        misuse("serve: a URL and a function expected")
    end
    local url, problem = urls.parse(text)
    if not url then
        misuse("serve: the URL is wrong: %s", problem)
    end
    local state = simcore.state(self)
    state.served = state.served or {}
    state.served[url.origin .. url.path:gsub("/$", "")] = f
end

-- The function for the longest URL that is this one, or above it.
local function find_function(served, url)
    local path = url.origin .. url.path
    while true do
        if served[path] then
            return served[path]
        elseif #path <= #url.origin then
            return nil
        end
        path = path:match("^(.*)/[^/]*$")
    end
end

local function decode(text)
    return (text:gsub("%+", " "):gsub("%%(%x%x)", function(digits)
        return string.char(tonumber(digits, 16))
    end))
end

local function read_query(target)
    local query = {}
    for name, value in (target:match("%?(.*)$") or ""):gmatch("([^&=]+)=?([^&]*)") do
        query[decode(name)] = decode(value)
    end
    return query
end

local function lower_names(headers)
    local lower = {}
    for name, value in pairs(headers or {}) do
        lower[name:lower()] = tostring(value)
    end
    return lower
end

local function make_reply(answer)
    if type(answer) == "string" then
        answer = { body = answer }
    elseif type(answer) ~= "table" then
        misuse("serve: the function returned a %s: return { status =, headers =, body = }, a text, "
            .. "or nil, message, code", type(answer))
    end
    local body = answer.body or ""
    return { status = answer.status or 200, headers = lower_names(answer.headers),
        body = type(body) == "string" and body or core.encode(body) }
end

---For kubelua.http: the answer of the test.
---@param url kubelua.Url
---@param call kubelua.Request
---@return kubelua.Reply?, string?, string?
function methods:answer_http(url, call)
    local f = find_function(simcore.state(self).served or {}, url)
    if not f then
        return nil, "no server is there under a test: answer it with cluster:serve(\""
            .. url.origin .. url.path .. "\", function(request) ... end)", "unavailable"
    end
    local body = call.body or ""
    local answer, message, code = f { method = call.method, url = url.text, path = url.path,
        query = read_query(url.target), headers = lower_names(call.headers),
        body = type(body) == "string" and body or core.encode(body) }
    if answer == nil then
        return nil, message or "the test gave no answer", code or "unavailable"
    end
    return make_reply(answer)
end

return methods
