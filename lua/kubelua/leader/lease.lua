-- Sends the requests for a Lease that an election orders.
local core = require "kubelua.core"
local requests = require "kubelua.requests"

local PATH = "/apis/coordination.k8s.io/v1/namespaces/"
local METHODS = { read = "GET", create = "POST", update = "PUT", release = "PUT" }

local lease = {}

---Carries out an order, any but "wait": the Lease, decoded; or nil, message, code.
---@param client kubelua.Client
---@param options kubelua.LeaderOptions with all defaults
---@param order kubelua.Election.Order
---@param what string for messages
---@return table?, string?, string?
function lease.ask(client, options, order, what)
    local path = PATH .. options.namespace .. "/leases"
    if order.what == "create" then
        order.lease.apiVersion, order.lease.kind = "coordination.k8s.io/v1", "Lease"
        order.lease.metadata = { name = options.name, namespace = options.namespace }
    else
        path = path .. "/" .. options.name
    end
    local reply, message, code = requests.send(client, {
        method = METHODS[order.what], path = path, body = order.lease, timeout = order.timeout,
    }, what)
    if not reply then
        return nil, message, code
    elseif reply.status >= 400 then
        message, code = core.status_error(reply.status, reply.body)
        return nil, message, code
    end
    local answer = core.decode(reply.body)
    if type(answer) ~= "table" or answer.kind ~= "Lease" then
        return nil, "the answer is no Lease, but " .. reply.body:sub(1, 60), "unknown"
    end
    return answer
end

return lease
