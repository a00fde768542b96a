-- A port sends the requests of verbs: of a client over its transport, of a simulated cluster by a
-- call. This file has what all requests of verbs have in common.
local replies = require "kubelua.verbs.replies"
local core = require "kubelua.core"
local failures = require "kubelua.failures"
local fence = require "kubelua.fleet.fence"
local kinds = require "kubelua.kinds"
local requests = require "kubelua.requests"
local targets = require "kubelua.verbs.targets"
local tasks = require "kubelua.tasks"

local ports = {}

---@class kubelua.Port
---@field send fun(call: kubelua.Request): kubelua.Reply?, string?, string?, number?
---@field namespace string the default namespace of keys
---@field is_closed fun(): boolean? of a client
---@field client kubelua.Client? nil: a simulated cluster; its writes are not reported to a scope
---@field till number? a time of core.now: the call that has this port ends then
---@field base kubelua.Port? the port without that end; discovery goes on for other calls
---@field young number? seconds in which discovery is not asked again; default: 1
---@field bounds table? the metatable of the ports that ports.bounded makes of it
---@field kinds kubelua.Kinds? what is known about the server's kinds; kinds.lua fills it

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
                    tasks.end_if_cancelled()
                end
                return reply, message, code
            end,
        }
    end
    return state.port
end

-- Seconds: the limit of a call that names none.
local LIMIT = 30

---A port for one call of a verb: all its requests, those of discovery and of further pages too, fit
---into its time.
---@param port kubelua.Port
---@param seconds number? default: 30; below 0: the port itself
---@return kubelua.Port
function ports.bounded(port, seconds)
    seconds = seconds or LIMIT
    if not port.client or seconds < 0 or seconds ~= seconds then
        return port
    end
    local till, is_begun = core.now() + seconds, false
    port.bounds = port.bounds or { __index = port, __newindex = port }
    return setmetatable({
        till = till, base = port,
        send = function(call)
            local left = till - core.now()
            if left <= 0 and is_begun then
                return nil, ("%s: it was not complete within %g s"):format(call.what or "discovery",
                    seconds), "timeout"
            end
            is_begun = true
            call.timeout = math.max(0, math.min(call.timeout or left, left))
            return port.send(call)
        end,
    }, port.bounds)
end

-- The message if discovery names a kind, but its path is not served.
local function refuse_path(call, kind)
    if call.subresource then
        return nil, "the server serves no \"" .. call.subresource .. "\" of " .. kind.plural,
            "not_found"
    end
    return nil, "the server does not serve " .. kind.plural .. " as " .. kind.api_version
        .. " at the moment", "unknown_kind"
end

-- Sends a request about a kind. If the server does not serve the path, discovery is asked again: an
-- older server may have another version, or a custom resource definition may be gone.
local function send_call(port, call, target)
    local kind = target.kind
    if call.subresource and not targets.is_name(call.subresource) then
        return nil, ("%q cannot be a subresource, which is one name such as \"status\""):format(
            call.subresource), "invalid_argument"
    end
    call.path = kinds.path(kind, target.namespace, target.name, call.subresource)
    local reply, message, code, retry_after = port.send(call)
    if not reply or reply.status ~= 404 or not replies.is_unserved(reply) then
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

---Sends a read. The hooks of the task's scope are for writes only.
---@param port kubelua.Port
---@param call kubelua.Request with `subresource` instead of `path`
---@param target kubelua.Target
---@return kubelua.Reply?, string?, string?, number?
function ports.read(port, call, target)
    call.method = "GET"
    return send_call(port, call, target)
end

---A write, as the hooks of a scope see it.
---@class kubelua.Write
---@field client kubelua.Client
---@field verb "create"|"update"|"apply"|"patch"|"delete"|"evict"|"scale"|"delete_all"
---@field kind kubelua.Kind
---@field namespace string?
---@field name string?
---@field uid string? if it is known
---@field object kubelua.Object? the object in the reply
---@field status integer? the HTTP status
---@field code string? nil: it was done; "unknown": it may have been done
---@field dry_run boolean
---@field timeout number? seconds; before_write may lower it
---@field send_by number? a time of core.boottime; before_write may set it: not sent later
---@field begun fun()? before_write may set it; called when all agree, before the write is sent
---@field cluster any before_write may set it: identifies the cluster of the client
---@field answered fun()? before_write may set it; called once `code` is set. At the end of a run,
---such a write has some time to be answered

-- Tells the scope the result of a write.
local function tell_scope(scope, write, reply, object, code)
    write.status, write.code = reply and reply.status, code
    if core.is_object(object) then
        write.object = object
        write.uid, write.name = write.uid or object.uid, write.name or object.name
    end
    if write.answered then
        write.answered()
    end
    if scope and scope.wrote then
        scope.wrote(write, scope)
    end
end

-- An empty table of Lua is `{}` in JSON, an object. Where a server wants a list, its error is right
-- and says nothing of this; here the remedy is added.
--
-- What servers say if an object stands where a list is expected: a server-side apply; the schema of
-- a custom resource; Go's decoder; the same for a patch, whose message is cut before the reason.
local COMPLAINTS = { "expected list", "must be of type array", "cannot unmarshal object into",
    "is invalid: patch: Invalid value" }

local ARRAY = getmetatable(core.array())

-- Finds an empty object whose field the message names; returns its path, such as "spec.ports".
local function find_named(value, path, name, message)
    if type(value) ~= "table" or value == core.null then
        return nil
    elseif next(value) == nil then
        local is_named = name and getmetatable(value) ~= ARRAY and message:find(name, 1, true)
        return is_named and path or nil
    end
    for key, item in pairs(value) do
        local is_index = type(key) == "number"
        local below = is_index and path .. "[" .. key .. "]"
            or (path == "" and "" or path .. ".") .. tostring(key)
        local found = find_named(item, below, is_index and name or key, message)
        if found then
            return found
        end
    end
    return nil
end

---The message of a refusal; with a remedy, if the body has `{}` where the server wants a list.
---@param message string
---@param body string? JSON
---@return string
local function explain_refusal(message, body)
    local is_complaint = false
    for _, complaint in ipairs(COMPLAINTS) do
        is_complaint = is_complaint or message:find(complaint, 1, true) ~= nil
    end
    if not is_complaint or not body or not body:find("{}", 1, true) then
        return message
    end
    local path = find_named(core.decode(body), "", nil, message)
    return path and message .. "; " .. path .. " is {}, which is an object in JSON: for an empty "
        .. "list write kubelua.array()" or message
end

-- The object in a reply. Unless it is of a subresource, it must have the kind of the target.
local function read_object(reply, call, target)
    return replies.object(reply, call.what .. " " .. targets.tell(target),
        not call.subresource and target.kind.kind or nil)
end

-- A reply that does not come from an API server does not show if the write was done.
local function judge_reply(reply, object, message, code, retry_after)
    if not object and code == "parse" and reply.status < 400 then
        code = "unknown"
    end
    return object, message, code, retry_after
end

---A write before it is sent; it becomes a kubelua.Write.
---@param verb string
---@param dry_run boolean?
---@param name string? nil: that of the target
---@return table
function ports.new_write(verb, dry_run, name)
    -- All its fields are named, so that the table has its size from the start.
    return { verb = verb, dry_run = dry_run, name = name, client = nil, timeout = nil, kind = nil,
        namespace = nil, uid = nil, object = nil, status = nil, code = nil, cluster = nil }
end

---Sends a write, between the hooks of the task's scope.
---@param port kubelua.Port
---@param write table verb, dry_run, uid if it is known; it becomes a kubelua.Write
---@param call kubelua.Request with `subresource` instead of `path`
---@param target kubelua.Target
---@param read? fun(reply, call, target): any, string?, string?, number? default: the written object
---@return any, string?, string?, number?
function ports.write(port, write, call, target, read)
    local scope
    if port.client then
        scope = tasks.end_if_cancelled() -- nothing is sent yet
    end
    write.client, write.timeout = port.client, call.timeout
    write.dry_run = write.dry_run or port.client ~= nil and requests.trial ~= nil
    write.kind, write.namespace = target.kind, target.namespace
    write.name, write.uid = write.name or target.name, write.uid or target.uid
    local may_write, refusal, reason = fence.ask(write, scope)
    if not may_write then
        return nil, refusal, reason
    end
    call.timeout, call.send_by = write.timeout, write.send_by
    call.may_finish = write.answered ~= nil
    if write.begun then
        write.begun()
    end
    call.tells = true -- so a cancelled task reports to its scope before it raises
    call.is_brief = true
    local ok, reply, message, code, retry_after = pcall(send_call, port, call, target)
    if not ok then
        -- This task was cancelled, and the write may have been sent.
        tell_scope(scope, write, nil, nil, "unknown")
        error(reply, 0)
    end
    write.kind = target.kind
    local object
    if reply then
        object, message, code, retry_after = judge_reply(reply,
            (read or read_object)(reply, call, target))
        message = not object and message and explain_refusal(message, call.body) or message
    end
    if object and target.kind.plural == "customresourcedefinitions" then
        kinds.doubt(port)
    end
    tell_scope(scope, write, reply, object, not object and code or nil)
    if scope and not object then
        failures.note_write(scope, write, message)
    end
    if type(reply) == "userdata" then
        core.reply_clear(reply)
    end
    if port.client then
        tasks.end_if_cancelled()
    end
    if object then
        return object
    end
    return nil, message, code, retry_after
end

return ports
