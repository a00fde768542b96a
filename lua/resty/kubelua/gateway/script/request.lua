-- The request as a script sees it: one object for all, which reads what is asked for from nginx.
-- What a script sets is kept in its run, and done after it (phases.lua).
local budget = require "resty.kubelua.gateway.script.budget"
local environment = require "resty.kubelua.gateway.script.environment"
local routing = require "resty.kubelua.gateway.routing"
local values = require "resty.kubelua.gateway.script.values"

local var = ngx.var
local asked = routing.request
local byte, gsub = string.byte, string.gsub

local MOST_HEADERS = 100
local MOST_BACKENDS = 100 -- that are remembered for a version of a script

---@class resty.kubelua.ScriptRequest
local Request = {}

-- The run of a call that only the phase `access` may make.
local function in_access(call)
    local run = budget.current()
    if run.phase ~= "access" then
        values.refuse(call, "only in access, not in %s", run.phase or "the chunk")
    end
    return run
end

local function in_request()
    if not budget.current().phase then
        error("there is no request while a chunk runs: ask in a function of it", 0)
    end
end

---@return string
function Request.method()
    in_request()
    return asked.method
end

---@return string the name in the request, in lower case
function Request.host()
    in_request()
    return asked.host
end

---@return string path decoded
function Request.path()
    in_request()
    return asked.path
end

---@return string? query what stands after "?"
function Request.query()
    in_request()
    return asked.query
end

---@return "http"|"https"
function Request.scheme()
    in_request()
    return asked.scheme
end

---@return string address of the client
function Request.address()
    in_request()
    return var.remote_addr
end

---The first argument of this name; true: it has no value.
---@param name string
---@return string|true|nil
function Request:argument(name)
    in_request()
    local value = asked.argument(values.line("request:argument", "the name", name))
    return type(value) == "table" and value[1] or value
end

---@param name string
---@return string?
function Request:header(name)
    in_request()
    return routing.header(values.line("request:header", "the name", name))
end

---@param name string
---@return string?
function Request:cookie(name)
    in_request()
    return asked.cookie(values.line("request:cookie", "the name", name))
end

local function read_file(path, most)
    local file, problem = io.open(path, "rb")
    if not file then
        return nil, problem
    end
    local text = file:read(most + 1)
    file:close()
    return text
end

local function read_body(most)
    local length = tonumber(var.content_length)
    if length and length > most then
        return nil, "too large"
    end
    ngx.req.read_body()
    local text, problem = ngx.req.get_body_data(), "too large"
    local path = not text and ngx.req.get_body_file()
    if path then
        text, problem = read_file(path, most)
    end
    if path and not text or text and #text > most then
        return nil, problem or "too large"
    end
    return text or ""
end

---The body, which is read here if it was not. It goes to the backend all the same.
---@return string? body nil: it is larger than the administrator allows
---@return string? message
function Request:body()
    local run = in_access "request:body"
    if run.state.rule.grpc then
        return nil, "the body of a gRPC call is a stream"
    end
    return budget.pause(read_body, run.script.limits.body)
end

---Sets a header for the backend; nil removes it.
---@param name string
---@param value string|string[]|nil
function Request:set_header(name, value)
    local run = in_access "request:set_header"
    name = values.header("request:set_header", name)
    local list = run.request_headers or {}
    run.request_headers = list
    if #list >= MOST_HEADERS then
        values.refuse("request:set_header", "more than %d calls in a request", MOST_HEADERS)
    end
    list[#list + 1] = { name, values.header_value("request:set_header", value) }
end

local function quote_byte(found)
    return ("%%%02X"):format(byte(found))
end

---Sets the path for the backend: decoded, as request:path() gives it.
---@param path string
function Request:set_path(path)
    local run = in_access "request:set_path"
    path = values.line("request:set_path", "the path", path)
    if byte(path) ~= 47 then
        values.refuse("request:set_path", "the path begins with /")
    end
    run.path = gsub(path, "[^%w%-._~!$&'()*+,;=:@/]", quote_byte)
end

---Sets the query for the backend, as it is to be sent; nil: none.
---@param query string?
function Request:set_query(query)
    local run = in_access "request:set_query"
    query = query and values.line("request:set_query", "the query", query) or ""
    run.query = gsub(query, "[ #]", quote_byte)
end

local PROTOCOLS = { http = true, https = true, grpc = true, grpcs = true, h2c = true }

---Sends the request to a Service of the script's namespace, in place of the rule's backends.
---@param service string "name:port"
---@param protocol "http"|"https"|"grpc"|"grpcs"|"h2c"|nil default: http
function Request:send_to(service, protocol)
    local run = in_access "request:send_to"
    local script = run.script
    local name = values.service("request:send_to", script.namespace, service)
    if protocol ~= nil and not PROTOCOLS[protocol] then
        values.refuse("request:send_to", "the protocol is http, https, grpc, grpcs or h2c")
    end
    local key = name .. " " .. (protocol or "http")
    local backend = script.backends[key]
    if not backend then
        if script.backend_count >= MOST_BACKENDS then
            script.backends, script.backend_count = {}, 0
        end
        backend = { service = name, weight = 1, protocol = protocol ~= "http" and protocol or nil }
        script.backends[key], script.backend_count = backend, script.backend_count + 1
    end
    run.backend = backend
end

---Answers the request. The script ends here.
---@param status integer 200 to 599
---@param body string?
---@param headers table<string, string|string[]>?
function Request:answer(status, body, headers)
    local run, call = in_access "request:answer", "request:answer"
    if type(status) ~= "number" or status < 200 or status > 599 or status % 1 ~= 0 then
        values.refuse(call, "the status is a number from 200 to 599")
    end
    local answer = { status = status, headers = {},
        body = body ~= nil and values.text(call, "the body", body) or nil }
    if headers ~= nil and type(headers) ~= "table" then
        values.refuse(call, "the headers are a table")
    end
    for name, value in next, headers or {} do
        if #answer.headers >= MOST_HEADERS then
            values.refuse(call, "more than %d headers", MOST_HEADERS)
        end
        table.insert(answer.headers, { values.header(call, name),
            values.header_value(call, value) })
    end
    run.answer = answer
    budget.stop()
end

return environment.share(Request)
