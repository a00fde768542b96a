-- The fence of a fleet's cluster. Only one member of the fleet's ring may write to a cluster, so
-- the fence asks the ring before each write of the cluster's client, whichever task sends the
-- write. The fence of a controller's leader may be asked as well.
local core = require "kubelua.core"

local fence = {}

-- Lets both functions be called; either may be nil.
local function both(first, second)
    if not first or not second then
        return first or second
    end
    return function()
        first()
        second()
    end
end

local function ask_scope(scope, write)
    if scope and scope.before_write then
        return scope.before_write(write, scope)
    end
    return true
end

---Asks if a write may be sent. It may lower the write's times, and set what is called then.
---@param write kubelua.Write
---@param scope kubelua.Scope? of the task that writes
---@return true?, string?, string?
function fence.ask(write, scope)
    local of_client = write.client and core.state(write.client, "kubelua.client").fence
    if not of_client then
        return ask_scope(scope, write)
    end
    local ok, message, code = of_client(write)
    if not ok then
        return nil, message, code
    end
    local begun, answered, send_by = write.begun, write.answered, write.send_by
    write.begun, write.answered, write.send_by = nil, nil, nil
    ok, message, code = ask_scope(scope, write)
    write.begun, write.answered = both(begun, write.begun), both(answered, write.answered)
    write.send_by = math.min(send_by or math.huge, write.send_by or math.huge)
    write.send_by = write.send_by < math.huge and write.send_by or nil
    return ok, message, code
end

---Sends a request of a script that is no verb, such as client:request, if it may be sent.
---@param client kubelua.Client
---@param given kubelua.Request
---@param send fun(given: kubelua.Request): any, string?, string?, any
---@return any, string?, string?, any
function fence.request(client, given, send)
    if not core.state(client, "kubelua.client").fence then
        return send(given)
    end
    local write = { client = client, timeout = given.timeout }
    local ok, message, code = fence.ask(write)
    if not ok then
        return nil, message, code
    end
    local bounded = {}
    for name, value in pairs(given) do
        bounded[name] = value
    end
    bounded.timeout = write.timeout
    if write.begun then
        write.begun()
    end
    local reply, reason
    reply, message, code, reason = send(bounded)
    write.status, write.code = (reply or reason or {}).status, code
    if write.answered then
        write.answered()
    end
    return reply, message, code, reason
end

return fence
