-- balancer_by_lua: the endpoint that request.lua has picked, and others when nginx tries again.
-- proxy_next_upstream of nginx.conf says after which failures nginx asks for another one. It would
-- repeat methods that it does not know, and any request whose kept connection fails: so here it is
-- decided once more.
local balancer = require "ngx.balancer"
local endpoints = require "resty.kubelua.gateway.endpoints"
local last_try = require "resty.kubelua.gateway.last_try"
local retry_policy = require "resty.kubelua.gateway.retry_policy"
local states = require "resty.kubelua.gateway.states"

local upstream = {}

local peer ---@type (fun(host: string): string)?

local NO_LIMIT, LEAST = 24 * 3600, 0.001 -- seconds; nginx has no "none", and 0 is the usual one
local BUSY = -3 -- NGX_BUSY: nginx answers 502, while it makes a 500 of ngx.exit(502)

---@param options resty.kubelua.GatewayOptions
function upstream.set_up(options)
    peer = options.peer
    retry_policy.set_up(options)
end

-- The seconds that are left of the rule's timeout for the whole request; nil: it has none.
local function seconds_left(state)
    local whole = state.rule.timeouts and state.rule.timeouts.request
    if not whole or whole == 0 then
        return nil
    elseif state.tries == 0 then
        return whole
    end
    return math.max(LEAST, whole - (ngx.now() - state.began))
end

-- The seconds for an answer that a route asks for: 0 means that there is no limit.
local function limit_of(state)
    local timeouts = state.rule.timeouts
    local backend = timeouts.backend == 0 and NO_LIMIT or timeouts.backend
    local whole = seconds_left(state) or timeouts.request and NO_LIMIT
    return backend and whole and math.min(backend, whole) or backend or whole
end

-- The seconds for an answer: those of the rule or of the settings; nil: those of nginx.conf.
local function set_timeouts(state)
    local settings = state.rule.settings
    local read = settings and settings.read_timeout
    if state.rule.timeouts then
        read = limit_of(state)
    end
    local connect, send = settings and settings.connect_timeout, settings and settings.send_timeout
    if read or connect or send then
        balancer.set_timeouts(connect, send, read)
    end
end

local function begin(state)
    state.more, state.began = endpoints.more_tries(state), ngx.now()
    if state.more > 0 then
        balancer.set_more_tries(state.more)
    end
end

-- Picks another endpoint, if the request may be sent again.
local function try_again(state)
    local attempt, is_kept = last_try.read(state)
    endpoints.fail(state, is_kept)
    state.is_late = attempt.outcome == "timeout" and seconds_left(state) == LEAST
    if state.is_late or not last_try.allows_another(retry_policy.of(state), attempt, state) then
        return false
    end
    endpoints.pick_other(state)
    return true
end

---Sets the endpoint for this try.
function upstream.balance()
    local state = states.current()
    if not state then
        ngx.log(ngx.ERR, "gateway.balancer: this location needs gateway.access, or gateway.resume")
        return ngx.exit(500)
    end
    if state.tries == 0 then
        begin(state)
    elseif not try_again(state) then
        ngx.log(ngx.INFO, "gateway: ", state.rule.source, ": the request is not sent again")
        return ngx.exit(BUSY)
    end
    if state.plan.has_limits then
        set_timeouts(state)
    end
    state.tries, state.sent = state.tries + 1, ngx.now()
    local host = peer and peer(state.host) or state.host
    local ok, message = balancer.set_current_peer(host, state.port)
    if not ok then
        ngx.log(ngx.ERR, "gateway: ", state.rule.source, ": ", host, ":", state.port, ": ", message)
        return ngx.exit(500)
    end
end

return upstream
