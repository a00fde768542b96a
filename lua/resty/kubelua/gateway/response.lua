-- header_filter_by_lua and log_by_lua: the headers of an answer, and the end of a request.
local auth_service = require "resty.kubelua.gateway.auth_service"
local answers = require "resty.kubelua.gateway.answers"
local balance = require "resty.kubelua.gateway.balance"
local counts = require "resty.kubelua.gateway.counts"
local endpoints = require "resty.kubelua.gateway.endpoints"
local headers = require "resty.kubelua.gateway.headers"
local limits = require "resty.kubelua.gateway.limits"
local scripts = require "resty.kubelua.gateway.script.phases"
local states = require "resty.kubelua.gateway.states"

local response = {}

local now, start_time = ngx.now, ngx.req.start_time

local function read_header(name)
    return ngx.header[name]
end

local function write_header(name, value)
    ngx.header[name] = value
end

---Sets the headers that a CORS filter gives.
---@param list { [1]: string, [2]: string, add: true? }[]
function response.add_cors(list)
    for _, header in ipairs(list) do
        local old = header.add and ngx.header[header[1]]
        if old and old ~= "" then
            old = type(old) == "table" and table.concat(old, ", ") or old
            ngx.header[header[1]] = old .. ", " .. header[2]
        else
            ngx.header[header[1]] = header[2]
        end
    end
end

local function change(filters)
    for i = 1, #filters do
        headers.change(filters[i], read_header, write_header)
    end
end

local function add_cookies(list)
    for _, cookie in ipairs(list or {}) do
        headers.change({ add = { { "Set-Cookie", cookie } } }, read_header, write_header)
    end
end

---Changes the headers of an answer as the route says.
function response.header_filter()
    local state = states.current()
    if not state then
        return
    end
    local plan = state.plan
    if plan.direct then
        state.answered = now()
        if plan.response_headers then
            change(plan.response_headers)
        end
        return
    elseif state.is_late then
        ngx.status = 504 -- upstream.lua can end a request only with 502
    end
    state.answered = now()
    local list = plan.settings.answers
    if list then
        answers.change(list, read_header, write_header)
    end
    if state.cookie then
        headers.change({ add = { { "Set-Cookie", balance.set_cookie(state.balance, state.cookie,
            ngx.var.https == "on") } } }, read_header, write_header)
    end
    if state.auth_cookies then
        add_cookies(auth_service.cookies(state))
    end
    if state.cors then
        response.add_cors(state.cors)
    end
    if state.response then
        change(state.response)
    end
    if state.of_backend then
        change(state.of_backend)
    end
    if state.scripts then
        scripts.header_filter(state)
    end
end

---Ends what a request holds.
---@param state resty.kubelua.gateway.State
function response.finish(state)
    endpoints.finish_by_status(state)
    if state.counted then
        limits.release(state.counted)
        state.counted = nil
    end
    states.drop(state)
end

---log_by_lua: the request is over.
function response.log()
    local state = states.last()
    counts.request(state and state.plan or ngx.ctx.kubelua_plan, ngx.status, now() - start_time())
    if state then
        if state.scripts then
            scripts.log(state)
        end
        response.finish(state)
    end
end

return response
