-- Runs the scripts of a route in the phases of a request. A script that fails costs its request in
-- access, with 500; later, the answer goes on as it is.
local budget = require "resty.kubelua.gateway.script.budget"
local chunk = require "resty.kubelua.gateway.script.chunk"
local cluster = require "resty.kubelua.gateway.script.cluster"
local core = require "kubelua.core"
local environment = require "resty.kubelua.gateway.script.environment"
local modules = require "resty.kubelua.gateway.script.modules"
local options = require "resty.kubelua.gateway.script.options"
local publish = require "resty.kubelua.gateway.publish"
local request = require "resty.kubelua.gateway.script.request"
local retained = require "resty.kubelua.gateway.script.retained"
local response = require "resty.kubelua.gateway.script.response"
local routing = require "resty.kubelua.gateway.routing"
local sockets = require "resty.kubelua.gateway.script.sockets"
local values = require "resty.kubelua.gateway.script.values"

local phases = {}

local MOST_LINES = 20 -- of log, in a request
local LOOK_BYTES = 1024 * 1024

local settings ---@type table?
local failed = {} ---@type table<string, string> what is new in this worker, by ConfigMap

-- Each version of a script, compiled; weak: a version goes when its value in the map does. The
-- value itself is in no script, so nothing leads back to the key.
local compiled = setmetatable({}, { __mode = "k" })

---@param given resty.kubelua.GatewayOptions
function phases.set_up(given)
    settings = options.read(given.scripts)
    sockets.set_up(given)
end

local function compile(name, value)
    local namespace = name:match("^[^/]+")
    if not options.allows(settings, namespace) then
        return nil, options.refusal(settings, namespace)
    elseif not value then
        return nil, "the ConfigMap is not there, or has no script that compiles"
    end
    local script, why = chunk.compile(name, value.text, settings)
    script = script or { why = why }
    script.backends, script.backend_count = {}, 0
    compiled[value] = script
    return script, why
end

local function find(name)
    local value = routing.kube.lookup(publish.SCRIPTS, name)
    local script, why = value and compiled[value], nil
    if not script then
        script, why = compile(name, value)
    end
    return script and script.phases and script, why or script and script.why
end

-- A whole line for the first failure of a version in this worker, then one each time that their
-- number has doubled.
local function report(script, phase, problem)
    script.failures = script.failures + 1
    local count = script.failures
    if count == 1 or count == script.reported * 2 then
        failed[script.name] = phase .. ": " .. problem
        script.reported = count
        ngx.log(ngx.ERR, core.escape(("gateway: script %s: %s: %s%s"):format(script.name, phase,
            problem, count > 1 and (" (failure %d in this worker)"):format(count) or "")))
    end
end

---What scripts failed in this worker since the last call, by ConfigMap: for Events.
---@return table<string, string>
function phases.take_failures()
    local taken = failed
    failed = {}
    return taken
end

-- Runs a function of a script; the chunk first, if it has not run for this request.
local function start(run, phase, ...)
    if not run.list then
        run.list = chunk.begin(run.script)
    end
    local f = rawget(run.list, phase)
    if f then
        return f(...)
    end
end

local function call(run, phase, ...)
    local limits = run.script.limits
    run.phase, run.pauses = phase, nil
    local ok, result, bytes = budget.call(run, start, run, phase, ...)
    if not ok and not run.answer or run.over then
        run.answer = false
        report(run.script, phase, budget.describe(run, result, limits))
        return false
    end
    return true, result, bytes
end

local function send_answer(answer)
    ngx.status = answer.status
    for _, header in ipairs(answer.headers) do
        ngx.header[header[1]] = header[2]
    end
    if answer.body and answer.status ~= 204 and answer.status ~= 304 then
        ngx.header.content_length = #answer.body
        ngx.print(answer.body)
    end
    ngx.exit(answer.body and 200 or answer.status)
end

-- What a script has set takes effect after it has ended.
local function apply(state, run, write_header)
    local headers = run.request_headers
    for i = 1, headers and #headers or 0 do
        write_header(headers[i][1], headers[i][2])
    end
    if run.path or run.query then
        local path, query = (state.uri or ngx.var.request_uri):match("^([^?]*)%??(.*)$")
        path, query = run.path or path, run.query or query
        state.uri = query ~= "" and path .. "?" .. query or path
    end
    state.backend = run.backend or state.backend
end

-- Eight fields, those that most scripts need: to add one later costs more than all of them.
local function new_run(script, state)
    return { script = script, state = state, phase = false, list = false, answer = false,
        backend = false, request_headers = false, response_headers = false }
end

---Runs the function `access` of each script of a rule. True: the request is answered.
---@param state resty.kubelua.gateway.State
---@param filters table[]
---@param write_header fun(name: string, value: any)
---@return boolean
function phases.access(state, filters, write_header)
    state.scripts = {}
    for i, filter in ipairs(filters) do
        local script, why = find(filter.configmap)
        if not script then
            ngx.log(ngx.WARN, core.escape(("gateway: %s: script %s: %s"):format(state.rule.source,
                filter.configmap, why)))
            ngx.exit(500)
            return true
        end
        local run = new_run(script, state)
        state.scripts[i] = run
        state.has_body_filter = state.has_body_filter or script.phases.body_filter
        if script.phases.access and not call(run, "access", request) then
            ngx.exit(500)
            return true
        elseif run.answer then
            send_answer(run.answer)
            return true
        end
        apply(state, run, write_header)
    end
    return false
end

local function change_answer(run)
    local header, list = ngx.header, run.response_headers
    if run.status then
        ngx.status = run.status
    end
    for i = 1, list and #list or 0 do
        header[list[i][1]] = list[i][2]
    end
end

---@param state resty.kubelua.gateway.State
function phases.header_filter(state)
    for i = 1, #state.scripts do
        local run = state.scripts[i]
        if run.script.phases.header_filter
            and call(run, "header_filter", response, request) then
            change_answer(run)
        end
    end
    if state.has_body_filter then
        ngx.header.content_length = nil
    end
end

-- False: the script keeps more than it may. What it keeps is looked at when its memory has grown by
-- as much; the garbage of its calls does not count.
local function keeps_little(run, bytes_left)
    local limits = run.script.limits
    run.grown = (run.grown or 0) + math.max(0, limits.bytes - bytes_left)
    if run.grown < (run.look_at or limits.bytes) then
        return true
    end
    local bytes = retained.size(run.list, limits.bytes)
    if bytes > limits.bytes then
        report(run.script, "body_filter", ("keeps more than %d MB of a request"):format(
            limits.megabytes))
        run.list = false
        return false
    end
    run.grown, run.look_at = bytes, math.max(limits.bytes, bytes + LOOK_BYTES)
    return true
end

---body_filter_by_lua: the function gets a part of the body, and if it is the last one; it returns
---what is sent in its place, or nil.
function phases.body_filter()
    local state = ngx.ctx.kubelua
    for _, run in ipairs(state and state.scripts or {}) do
        if run.script.phases.body_filter and not run.has_failed then
            local ok, part, bytes_left = call(run, "body_filter", ngx.arg[1] or "",
                ngx.arg[2], response, request)
            run.has_failed = not ok or not keeps_little(run, bytes_left)
            if type(part) == "string" then
                ngx.arg[1] = part
            end
        end
    end
end

---@param state resty.kubelua.gateway.State
function phases.log(state)
    for _, run in ipairs(state.scripts) do
        if run.script.phases.log then
            call(run, "log", response, request)
        end
    end
end

-- The global `log`: a line of the error log.
local function write_line(text)
    local run = budget.current()
    run.lines = (run.lines or 0) + 1
    if run.lines <= MOST_LINES then
        ngx.log(ngx.NOTICE, core.escape("gateway: script " .. run.script.name .. ": "
            .. values.text("log", "what is logged", text):sub(1, 1000)))
    end
end

environment.add("kube", cluster)
environment.add("log", write_line)
environment.add("now", function() return ngx.now() end)
environment.add("require", modules.require)
environment.add("socket", sockets.library)

return phases
