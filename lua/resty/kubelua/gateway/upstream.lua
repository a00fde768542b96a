-- balancer_by_lua: the endpoint that request.lua has picked, and others when nginx tries again.
-- nginx tries only what may be tried again: proxy_next_upstream of nginx.conf says after which
-- failures, and a request that is not idempotent is never sent twice.
local balancer = require "ngx.balancer"
local endpoints = require "resty.kubelua.gateway.endpoints"

local upstream = {}

local peer ---@type (fun(host: string): string)?

local NO_LIMIT = 24 * 3600 -- seconds; nginx has no "none"

---@param options resty.kubelua.GatewayOptions
function upstream.set_up(options)
    peer = options.peer
end

-- The seconds for an answer that a route asks for: 0 means that there is no limit.
local function limit_of(timeouts)
    local backend, whole = timeouts.backend, timeouts.request
    backend = backend == 0 and NO_LIMIT or backend
    whole = whole == 0 and NO_LIMIT or whole
    return backend and whole and math.min(backend, whole) or backend or whole
end

-- The seconds for an answer: those of the rule or of the settings; nil: those of nginx.conf.
local function set_timeouts(rule)
    local settings, timeouts = rule.settings, rule.timeouts
    local read = settings and settings.read_timeout
    if timeouts then
        read = limit_of(timeouts)
    end
    local connect, send = settings and settings.connect_timeout, settings and settings.send_timeout
    if read or connect or send then
        balancer.set_timeouts(connect, send, read)
    end
end

---Sets the endpoint for this try.
function upstream.balance()
    local state = ngx.ctx.kubelua
    if not state then
        ngx.log(ngx.ERR, "gateway.balancer: this location needs gateway.access, or gateway.resume")
        return ngx.exit(500)
    end
    local tries = state.tries
    state.tries = tries + 1
    if tries == 0 then
        local more = endpoints.more_tries(state)
        if more > 0 then
            balancer.set_more_tries(more)
        end
    else
        endpoints.pick_other(state)
    end
    if state.rule.timeouts or state.rule.settings then
        set_timeouts(state.rule)
    end
    local host = peer and peer(state.host) or state.host
    local ok, message = balancer.set_current_peer(host, state.port)
    if not ok then
        ngx.log(ngx.ERR, "gateway: ", state.rule.source, ": ", host, ":", state.port, ": ", message)
        return ngx.exit(500)
    end
end

return upstream
