-- access_by_lua: finds the rule for a request, does what its filters and settings say, and picks
-- the endpoint; upstream.lua sends the request there.
local body_size = require "resty.kubelua.gateway.body_size"
local cors = require "resty.kubelua.gateway.cors"
local default_backend = require "resty.kubelua.gateway.default_backend"
local endpoints = require "resty.kubelua.gateway.endpoints"
local guards = require "resty.kubelua.gateway.guards"
local headers = require "resty.kubelua.gateway.headers"
local plans = require "resty.kubelua.gateway.plans"
local redirect = require "resty.kubelua.gateway.redirect"
local response = require "resty.kubelua.gateway.response"
local retry_policy = require "resty.kubelua.gateway.retry_policy"
local rewrite = require "resty.kubelua.gateway.rewrite"
local routing = require "resty.kubelua.gateway.routing"
local scripts = require "resty.kubelua.gateway.script.phases"
local searching = require "resty.kubelua.gateway.searching"
local states = require "resty.kubelua.gateway.states"
local template = require "resty.kubelua.gateway.template"

local request = {}

local var, exit = ngx.var, ngx.exit
local asked = routing.request

-- Why no rule was found, to the status. All else is 404.
local STATUS = { host = 400, regex = 500 }

local EMPTY = {}
local ACME = "/.well-known/acme-challenge/"

local function refuse(status, rule, why)
    ngx.log(ngx.WARN, "gateway: ", rule.source, ": ", why)
    return exit(status)
end

local function render(parts)
    return template.render(parts, routing.variable, ngx.escape_uri)
end

local FILL = { render = render, capture = searching.capture } -- for redirects

local function answer_redirect(location, status)
    ngx.header.Location = location
    return exit(status)
end

-- Headers that nginx.conf sends to every backend are variables there.
local function write_header(name, value)
    if name:lower() == "host" then
        var.kubelua_host = type(value) == "table" and value[1] or value or ""
    elseif value == nil then
        ngx.req.clear_header(name)
    else
        ngx.req.set_header(name, value)
    end
end

local function change_headers(filters)
    for i = 1, #filters do
        headers.change(filters[i], routing.header, write_header)
    end
end

-- What a rewrite asks for.
local function rewrite_request(state, filter, match)
    if filter.host then
        var.kubelua_host = filter.host
    end
    if filter.path then
        local path, query = rewrite.target(filter, asked, match, searching.capture)
        state.uri = query and query ~= "" and path .. "?" .. query or path
    end
end

local function must_be_encrypted(settings)
    return settings.ssl_redirect and asked.scheme == "http"
        and asked.path:sub(1, #ACME) ~= ACME
end

local function redirect_to_https(settings, place)
    local uri = var.request_uri
    if not settings.preserve_trailing_slash and #uri > 1 then
        uri = uri:gsub("/$", "")
    end
    return answer_redirect("https://" .. place.host .. uri, 308)
end

-- Settings of Ingresses that answer a request. True: it is answered.
local function check_settings(rule, plan, place, is_read)
    local settings = plan.settings
    if plan.denied then
        return true, refuse(503, rule, plan.denied)
    elseif must_be_encrypted(settings) then
        return true, redirect_to_https(settings, place)
    elseif settings.app_root and asked.path == "/" then
        return true, answer_redirect(asked.scheme .. "://" .. var.kubelua_asked
            .. settings.app_root, 302)
    elseif settings.body_size and body_size.is_over(rule, settings.body_size, is_read) then
        return true, exit(413)
    end
    return false
end

-- Filters of a rule that answer. True: it is answered.
local function check_filters(state, plan, match, place)
    if plan.cors then
        local status, list = cors.answer(plan.cors, asked)
        state.cors = list
        if status then
            response.add_cors(list)
            return true, exit(status)
        end
    end
    if plan.redirect then
        return true, answer_redirect(redirect.location(plan.redirect, asked, match, place, FILL))
    end
    return false
end

-- An error page may lead a request here again: what it held is ended first.
local function hold(state)
    local former = states.hold(state)
    if former then
        response.finish(former)
    end
end

-- True: a guard has answered. Browsers send no password with a preflight: CORS answers it first.
local function check_guard(state, guard)
    hold(state)
    local status, why = guards.check(guard, state)
    if why then
        ngx.log(ngx.WARN, "gateway: ", state.rule.source, ": ", why)
    end
    return status ~= nil, status and exit(status)
end

-- Filters of a rule that change the request.
local function apply_filters(state, plan, match)
    if plan.request_headers then
        change_headers(plan.request_headers)
    end
    if plan.rewrite then
        rewrite_request(state, plan.rewrite, match)
    end
end

-- The filters of one backend. The answer gets those of the rule first.
local function apply_backend(state, plan, match)
    if plan.denied then
        return true, refuse(500, state.rule, plan.denied)
    end
    if plan.request_headers then
        change_headers(plan.request_headers)
    end
    if plan.rewrite then
        rewrite_request(state, plan.rewrite, match)
    end
    if plan.response_headers then
        state.of_backend = plan.response_headers
    end
    return false
end

local function decode_byte(hex)
    return string.char(tonumber(hex, 16))
end

-- grpc_pass takes no path from a variable: so the request's own becomes another.
local function set_uri(text)
    local path, query = text:match("^([^?]*)%??(.*)$")
    ngx.req.set_uri((path:gsub("%%(%x%x)", decode_byte)))
    ngx.req.set_uri_args(query)
end

-- The location for a script that changes the body, for retries after a status, or for an answer
-- that nginx buffers; nil: none of them is asked for, or the request has mirrors.
local function place_of(state)
    local is_buffered = (state.rule.settings or EMPTY).buffering and not state.mirrors
    if state.has_body_filter and not state.mirrors then
        return is_buffered and "@kubelua_script_buffered" or "@kubelua_script"
    end
    local policy = retry_policy.of(state)
    return policy and policy.place or is_buffered and "@kubelua_buffered" or nil
end

-- Goes on in the named location of nginx.conf that the backend needs; returns if it is this one.
local function leave(state)
    local protocol = state.backend.protocol
    local is_grpc = state.rule.grpc or protocol == "grpc" or protocol == "grpcs"
        or protocol == "h2c"
    if is_grpc and state.has_body_filter then
        return refuse(500, state.rule, "a script with body_filter, and a backend of gRPC or h2c")
    elseif is_grpc then
        if state.uri then
            set_uri(state.uri)
        end
        local is_tls = protocol == "grpcs" or protocol == "https"
        return states.go(state, "@kubelua_grpc", is_tls and "grpcs" or "grpc")
    end
    local place = place_of(state)
    local name = (state.rule.settings or EMPTY).tls_name or asked.host
    if protocol == "https" then
        return states.go(state, place or "@kubelua_tls", nil, name, place and "https://kubelua_tls")
    elseif state.mirrors then
        return states.go(state, "@kubelua_mirror")
    elseif place then
        return states.go(state, place, nil, nil, "http://kubelua")
    elseif state.uri then
        return states.go(state, "@kubelua_http")
    end
end

local function send(state, match)
    local backend = state.backend
    if backend.status then
        return exit(backend.status)
    end
    local is_answered = backend.filters and apply_backend(state, plans.of(backend), match)
    if is_answered then
        return
    end
    local host, why = endpoints.pick(state)
    if not host then
        return refuse(503, state.rule, backend.service .. ": " .. tostring(why))
    elseif state.backend ~= backend then
        default_backend.tell(state.rule, backend)
    end
    hold(state)
    return leave(state)
end

-- The usual request: it needs no more than an endpoint.
local function send_direct(state, plan)
    local host, why = endpoints.pick_direct(state, plan)
    if not host then
        ngx.ctx.kubelua_plan = plan
        return refuse(503, state.rule, plan.only.service .. ": " .. tostring(why))
    end
    return hold(state)
end

-- A client may ask for several hosts on one connection: not for one of another HTTPS listener than
-- that of its handshake.
local function is_misdirected(place)
    local name = var.ssl_server_name
    local handshake = name and routing.matcher:place(asked.address, asked.port, name)
    return handshake and handshake.name ~= place.name
end

---Finds the route of a request and an endpoint for it; or answers.
---@param is_read boolean? the body of the request has been read
function request.access(is_read)
    local rule, found, place, failed = routing.matcher:find(asked)
    if place and place.listener.tls and is_misdirected(place) then
        return exit(421)
    elseif not rule then
        if failed then
            searching.report(failed.rule.source, failed.why)
        end
        return exit(STATUS[found] or 404)
    end
    local plan = plans.of_found(found)
    -- at most 16 fields for a usual request: LuaJIT would double the table for more
    local state = { rule = rule, plan = plan, service = false, backend = false, balance = false,
        host = false, port = false, token = false, request = false, tries = 0, more = 0, began = 0,
        sent = 0, answered = false, came = 0 }
    if plan.direct then
        return send_direct(state, plan)
    end
    ngx.ctx.kubelua_plan = plan -- for the log phase, also where the request ends here
    local match = found.match
    if not plan.plain then
        if check_settings(rule, plan, place, is_read) or check_filters(state, plan, match, place)
            or plan.guard and check_guard(state, plan.guard) then
            return
        end
        apply_filters(state, plan, match)
        if plan.mirrors then
            state.mirrors = plan.mirrors
        end
    end
    if plan.response_headers then
        state.response = plan.response_headers
    end
    local other = rule.backends[2] and rule.backends[2].canary
    local backend = plan.only or other and other.sticky and endpoints.backend_of_session(rule)
        or routing.weights:pick(rule.backends, asked)
    if not backend then -- none has a weight
        return exit(500)
    end
    state.backend = backend
    if plan.scripts and scripts.access(state, plan.scripts, write_header) then
        return
    end
    return send(state, match)
end

---Goes on with a request whose body has been read.
function request.go_on()
    return ngx.exec("@kubelua_read")
end

---Finds the state again in a named location.
function request.resume()
    ngx.ctx.kubelua = states.find()
end

return request
