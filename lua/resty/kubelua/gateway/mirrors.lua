-- Copies of requests for a RequestMirror: nginx makes them by `mirror kubelua-mirror-1`; the number
-- says which filter of the route is meant. Their answers are dropped.
local endpoints = require "resty.kubelua.gateway.endpoints"
local states = require "resty.kubelua.gateway.states"

local mirrors = {}

-- Copies go out as HTTP/1.1 in the clear: a backend that wants TLS, or HTTP/2, gets none.
local function is_spoken(filter)
    return filter.protocol == nil or filter.protocol == "ws"
end

---rewrite_by_lua of the location of mirrored requests: picks the endpoint, or ends the copy.
function mirrors.begin()
    local state = states.find()
    local index = tonumber(ngx.var.uri:match("%d+$"))
    local filter = state and state.mirrors and state.mirrors[index]
    if not filter or not is_spoken(filter)
        or math.random() * 100 >= (filter.percent or 100) then
        return ngx.exit(204)
    end
    local copy = { rule = state.rule, plan = state.plan, backend = filter, host = false,
        port = false, tries = 0, is_copy = true }
    if not endpoints.pick(copy) then
        return ngx.exit(204)
    end
    ngx.ctx.kubelua = copy
end

return mirrors
