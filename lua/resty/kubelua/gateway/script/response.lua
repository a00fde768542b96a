-- The answer as a script sees it in header_filter, body_filter and log. What it sets is kept in its
-- run, and done after it (phases.lua): nginx is called faster from what LuaJIT compiles.
local budget = require "resty.kubelua.gateway.script.budget"
local environment = require "resty.kubelua.gateway.script.environment"
local values = require "resty.kubelua.gateway.script.values"

local var = ngx.var
local lower = string.lower

local MOST_HEADERS = 100

---@class resty.kubelua.ScriptResponse
local Response = {}

local function in_header_filter(call)
    local run = budget.current()
    if run.phase ~= "header_filter" then
        values.refuse(call, "only in header_filter, not in %s", run.phase or "the chunk")
    end
    return run
end

-- What the script has set for a header; the name in lower case.
local function find_own(run, name)
    local list = run.response_headers
    for i = list and #list or 0, 1, -1 do
        if lower(list[i][1]) == name then
            return list[i]
        end
    end
end

---@return integer
function Response.status()
    return budget.current().status or ngx.status
end

---@param status integer 200 to 599
function Response:set_status(status)
    local run = in_header_filter "response:set_status"
    if type(status) ~= "number" or status < 200 or status > 599 or status % 1 ~= 0 then
        values.refuse("response:set_status", "the status is a number from 200 to 599")
    end
    run.status = status
end

---@param name string
---@return string|string[]|nil
function Response:header(name)
    name = values.line("response:header", "the name", name)
    local own = find_own(budget.current(), lower(name))
    if own then
        return own[2]
    end
    return ngx.header[name]
end

---Sets a header for the client; nil removes it.
---@param name string
---@param value string|string[]|nil
function Response:set_header(name, value)
    local run = in_header_filter "response:set_header"
    name = values.header("response:set_header", name)
    local list = run.response_headers or {}
    run.response_headers = list
    if #list >= MOST_HEADERS then
        values.refuse("response:set_header", "more than %d calls in a request", MOST_HEADERS)
    end
    list[#list + 1] = { name, values.header_value("response:set_header", value) }
end

---@return number seconds since the request began
function Response.seconds()
    return tonumber(var.request_time)
end

---@return integer bytes that were sent to the client
function Response.bytes()
    return tonumber(var.bytes_sent)
end

---@return string? address of the last endpoint that was asked, with its port
function Response.endpoint()
    local all = var.upstream_addr
    return all and string.match(all, "[^, ]+$")
end

return environment.share(Response)
