-- What one request needs in its later phases. It is in ngx.ctx, which nginx empties when a request
-- goes on to a named location, and which a mirrored request does not share: so before either, it is
-- kept under a number, which travels in the variable $kubelua_state of nginx.
local states = {}

---@class resty.kubelua.gateway.State
---@field rule table
---@field match table
---@field backend table
---@field host string of the endpoint
---@field port integer
---@field tries integer how many times nginx has got an endpoint
---@field more integer? how many more tries nginx was given
---@field kept integer? tries that failed on a kept connection
---@field began number? when the first try began
---@field balance resty.kubelua.gateway.BalanceSettings?
---@field token integer? of the balancer
---@field cookie string? of the balancer, for the answer
---@field is_copy boolean? the request is the copy that a mirror gets
---@field tried string[]? endpoints that failed
---@field response table[]? filters for the headers of the answer
---@field cors table[]? headers for the answer
---@field mirrors table[]? filters
---@field uri string? of a rewrite: what the backend is asked for
---@field counted string? the key of limits.lua
---@field number integer? under which it is kept

local kept, last = {}, 0

---Keeps a state, and goes on in a named location. Does not return.
---@param state resty.kubelua.gateway.State
---@param location string
---@param scheme string? of grpc_pass
---@param name string? for the TLS handshake with the backend
function states.go(state, location, scheme, name)
    last = last + 1
    state.number = last
    kept[last] = state
    local var = ngx.var
    var.kubelua_state, var.kubelua_uri = last, state.uri or ""
    var.kubelua_scheme, var.kubelua_name = scheme or "", name or ""
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
end

return states
