-- How verbs reach a server: a client over its transport, a simulated cluster by a call. Here stands
-- what every request of a verb has in common.
local answers = require "kubelua.verbs.answers"
local core = require "kubelua.core"
local kinds = require "kubelua.kinds"
local requests = require "kubelua.requests"
local scheduler = require "kubelua.scheduler"

local ports = {}

---@class kubelua.Port
---@field send fun(call: kubelua.Request): kubelua.Reply?, string?, string?, number?
---@field namespace string of bare keys
---@field is_closed fun(): boolean? of a client
---@field client kubelua.Client? nil: a simulated cluster, whose writes no scope is told of
---@field young number? seconds: discovery is not asked again for so long; default: 1
---@field kinds kubelua.Kinds? what is known of the server; kinds.lua fills it

---The port of a client.
---@param client kubelua.Client
---@return kubelua.Port
function ports.of(client)
    local state = core.state(client, "kubelua.client")
    if not state.port then
        state.port = {
            client = client,
            is_closed = function() return state.is_closed end,
            namespace = not state.is_closed and client:namespace() or "default",
            send = function(call)
                if state.is_closed then
                    return nil, "the client is closed", "closed"
                end
                local reply, message, code = requests.send(client, call,
                    "client:" .. (call.what or "get"))
                if not call.tells then
                    scheduler.end_if_cancelled()
                end
                return reply, message, code
            end,
        }
    end
    return state.port
end

-- The server's discovery names a kind, but a path of it leads nowhere.
local function refuse_path(call, kind)
    if call.subresource then
        return nil, "the server serves no \"" .. call.subresource .. "\" of " .. kind.plural,
            "not_found"
    end
    return nil, "the server does not serve " .. kind.plural .. " as " .. kind.api_version
        .. " at the moment", "unknown_kind"
end

-- Sends a call about a kind. Where the server does not serve its path, discovery is asked for it:
-- an older server may have another version, a definition may be gone.
local function send(port, call, target)
    local kind = target.kind
    call.path = kinds.path(kind, target.namespace, target.name, call.subresource)
    local reply, message, code, retry_after = port.send(call)
    if not reply or not answers.is_unserved(reply) then
        return reply, message, code, retry_after
    end
    local found
    found, message, code = kinds.again(port, target.asked)
    if not found then
        return nil, message, code
    end
    target.kind = found
    if kinds.path(found) == kinds.path(kind) and found.namespaced == kind.namespaced then
        return refuse_path(call, found)
    end
    call.path = kinds.path(found, target.namespace, target.name, call.subresource)
    return port.send(call)
end

---Reads: no scope is asked.
---@param port kubelua.Port
---@param call kubelua.Request with `subresource` instead of `path`
---@param target kubelua.Target
---@return kubelua.Reply?, string?, string?, number?
function ports.read(port, call, target)
    call.method = "GET"
    return send(port, call, target)
end

---A write, as the hooks of a scope see it.
---@class kubelua.Write
---@field client kubelua.Client
---@field verb "create"|"update"|"apply"|"patch"|"delete"|"evict"|"scale"|"delete_all"
---@field kind kubelua.Kind
---@field namespace string?
---@field name string?
---@field uid string? if it is known
---@field object kubelua.Object? the answer's
---@field status integer? of HTTP
---@field code string? nil: it was done; "unknown": it may have been
---@field dry_run boolean
---@field timeout number? seconds; before_write may lower it
---@field send_by number? a moment of core.boottime; before_write may set it: not sent later

-- What became of it, for the scope.
local function tell(scope, write, reply, object, code)
    write.status, write.code = reply and reply.status, code
    if core.is_object(object) then
        write.object = object
        write.uid, write.name = write.uid or object.uid, write.name or object.name
    end
    if scope and scope.wrote then
        scope.wrote(write)
    end
end

-- An answer that no API server gave tells nothing of what became of the write.
local function judge(reply, object, message, code, retry_after)
    if not object and code == "parse" and reply.status < 400 then
        code = "unknown"
    end
    return object, message, code, retry_after
end

---Writes, between the hooks of the scope of the task.
---@param port kubelua.Port
---@param write table verb, dry_run, uid where it is known; it becomes a kubelua.Write
---@param call kubelua.Request with `subresource` instead of `path`
---@param target kubelua.Target
---@param read fun(reply: kubelua.Reply): any, string?, string?, number?
---@return any, string?, string?, number?
function ports.write(port, write, call, target, read)
    local scope
    if port.client then
        scheduler.end_if_cancelled() -- nothing is sent yet
        scope = scheduler.scope_here()
    end
    write.client, write.timeout, write.dry_run = port.client, call.timeout, write.dry_run or false
    write.kind, write.namespace = target.kind, target.namespace
    write.name, write.uid = write.name or target.name, write.uid or target.uid
    if scope and scope.before_write then
        local ok, message, code = scope.before_write(write)
        if not ok then
            return nil, message, code
        end
        call.timeout, call.send_by = write.timeout, write.send_by
    end
    call.tells = true -- a scope, before it raises in a task that is cancelled
    local ok, reply, message, code, retry_after = pcall(send, port, call, target)
    if not ok then
        -- This task was cancelled, and its write may have been sent.
        tell(scope, write, nil, nil, "unknown")
        error(reply, 0)
    end
    write.kind = target.kind
    local object
    if reply then
        object, message, code, retry_after = judge(reply, read(reply))
    end
    if object and target.kind.plural == "customresourcedefinitions" then
        kinds.doubt(port)
    end
    tell(scope, write, reply, object, not object and code or nil)
    if port.client then
        scheduler.end_if_cancelled()
    end
    if object then
        return object
    end
    return nil, message, code, retry_after
end

return ports
