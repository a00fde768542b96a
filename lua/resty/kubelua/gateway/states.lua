-- What one request needs in its later phases. It is in ngx.ctx, which nginx empties when a request
-- goes on to a named location, and which a mirrored request does not share: so before either, it is
-- kept under a number, which travels in the variable $kubelua_state of nginx.
--
-- An error page of nginx.conf empties ngx.ctx as well: so what a request holds is also known by its
-- address in nginx, which stays, until the log phase ends it. A request whose plan is
-- silent is known by its address only: ngx.ctx would cost it a table.
local ffi = require "ffi"
local get_request = require("resty.core.base").get_request

local states = {}

---@class resty.kubelua.gateway.State
---@field rule table
---@field plan resty.kubelua.gateway.Plan
---@field service resty.kubelua.Service? of the last pick
---@field backend table
---@field host string of the endpoint
---@field port integer
---@field tries integer how many times nginx has got an endpoint
---@field more integer? how many more tries nginx was given
---@field kept integer? tries that failed on a kept connection
---@field began number? when the first try began
---@field is_late boolean? the rule's timeout for the whole request is over
---@field balance resty.kubelua.gateway.BalanceSettings?
---@field token integer? of the balancer
---@field cookie string? of the balancer, for the answer
---@field is_copy boolean? the request is the copy that a mirror gets
---@field sent number? when the last try began
---@field answered number? when the header of the answer was there
---@field tried string[]? endpoints that failed
---@field response table[]? filters for the headers of the answer
---@field cors table[]? headers for the answer
---@field mirrors table[]? filters
---@field scripts table[]? runs of scripts
---@field has_body_filter boolean? one of them changes the body
---@field uri string? of a rewrite: what the backend is asked for
---@field auth_cookies string[]? of the auth service
---@field auth_cookies_always boolean? whatever the answer's status is
---@field counted string? the key of limits.lua
---@field number integer? under which it is kept
---@field request integer? the address of its request
---@field came number? when its request came

local kept, last = {}, 0
local by_request = {}

local start_time = ngx.req.start_time

local function address_of_request()
    return tonumber(ffi.cast("intptr_t", get_request()))
end

---Makes a state that of this request.
---@param state resty.kubelua.gateway.State
---@return resty.kubelua.gateway.State? former one that this request had before an error page, and
---that nothing has ended
function states.hold(state)
    local address = address_of_request()
    local former = by_request[address]
    by_request[address], state.request, state.came = state, address, start_time()
    if not state.plan.silent then
        ngx.ctx.kubelua = state
    end
    return former ~= state and former or nil
end

-- A request whose log phase is not the gateway's leaves its state behind: another request at the
-- same address has come at another time.
local function held()
    local state = by_request[address_of_request()]
    return state and state.came == start_time() and state or nil
end

---The state of a request; nil: it has no endpoint, or is on an error page.
---@return resty.kubelua.gateway.State?
function states.current()
    local state = held()
    if state and state.plan.silent then
        return state
    end
    return ngx.ctx.kubelua
end

---The state of a request that ends.
---@return resty.kubelua.gateway.State?
function states.last()
    return held() or ngx.ctx.kubelua
end

---Keeps a state, and goes on in a named location. Does not return.
---@param state resty.kubelua.gateway.State
---@param location string
---@param scheme string? of grpc_pass
---@param name string? for the TLS handshake with the backend
---@param to string? scheme and upstream, for locations that serve several
function states.go(state, location, scheme, name, to)
    last = last + 1
    state.number = last
    kept[last] = state
    local var = ngx.var
    var.kubelua_state, var.kubelua_uri = last, state.uri or ""
    var.kubelua_scheme, var.kubelua_name = scheme or "", name or ""
    if to then
        var.kubelua_to = to
    end
    return ngx.exec(location)
end

---The state of a request, or of the request that it is a mirror of.
---@return resty.kubelua.gateway.State?
function states.find()
    return kept[tonumber(ngx.var.kubelua_state)]
end

---Forgets a state at the end of its request.
---@param state resty.kubelua.gateway.State
function states.drop(state)
    if state.number then
        kept[state.number] = nil
    end
    local address = state.request
    if address and by_request[address] == state then
        by_request[address] = nil
    end
end

return states
