-- client:wait: opens an informer of one object, and waits until the object meets a condition. The
-- informer handles broken connections, and kinds that are defined later.
local conditions = require "kubelua.verbs.conditions"
local core = require "kubelua.core"
local misuse = require "kubelua.misuse"
local ports = require "kubelua.verbs.ports"
local requests = require "kubelua.requests"
local targets = require "kubelua.verbs.targets"
local waiting = require "kubelua.waiting"

local verb = {}

local DEFAULT, PAUSE = 30, 1 -- seconds

-- A value in a field selector: kinds of RBAC have names with "=", "," or a backslash
-- (k8s.io/apimachinery, fields.EscapeValue).
local function escape_value(text)
    return (text:gsub("[\\,=]", "\\%0"))
end

-- Finds the target. If the server does not know the kind yet, tries again until the time is over.
local function find_target(port, named, till)
    local target, message, code = targets.find(port, "wait", named)
    while not target and code == "unknown_kind" and core.now() + PAUSE < till do
        local _, is_ended = waiting.wait("client:wait", PAUSE, function() return false end)
        if is_ended then
            return nil, waiting.CANCELED, "canceled"
        end
        target, message, code = targets.find(port, "wait", named)
    end
    return target, message, code
end

-- Tests the object whenever it has changed, until the condition holds or the time is over.
local function watch_object(informer, target, holds, time)
    local seen = { is_new = true, reason = nil, is_forbidden = false }
    local function change()
        seen.is_new = true
    end
    local registration, message, code = informer:on {
        name = "client:wait", add = change, update = change, delete = change, synced = change,
        error = function(problem, kind)
            seen.reason, seen.is_forbidden = problem, kind == "forbidden"
        end,
    }
    if not registration then
        return nil, message, code
    end
    local key = (target.namespace and target.namespace .. "/" or "") .. target.name
    local object, met, why, is_changed, is_ended
    repeat
        if seen.is_new and informer:has_synced() then
            seen.is_new = false
            object = informer:get(key)
            if object and target.uid and object.uid ~= target.uid then
                object = nil
            end
            met, why = holds(object)
            if met then
                return object or true
            end
        end
        if seen.is_forbidden then
            return nil, "wait: " .. seen.reason, "forbidden"
        end
        if requests.trial and informer:has_synced() then
            message = "it is not so now, and a dry run does not wait for it: nothing that it "
                .. "writes arrives"
            return nil, conditions.tell(targets.tell(target), message, object, why), "timeout"
        end
        is_changed, is_ended = waiting.wait("client:wait", math.max(0, time.till - core.now()),
            function()
                return seen.is_new and informer:has_synced() or seen.is_forbidden
            end)
    until not is_changed
    if is_ended then
        return nil, waiting.CANCELED, "canceled"
    end
    message = ("it did not happen within %g s"):format(time.seconds)
    return nil, conditions.tell(targets.tell(target), message, object, why, seen.reason), "timeout"
end

---@param client kubelua.Client
---@param port kubelua.Port
---@param resource string|table
---@param ... any key, condition, seconds; of an object: condition, seconds
---@return kubelua.Object|true|nil, string?, string?
function verb.wait(client, port, resource, ...)
    local named, taken = targets.arguments("wait", resource, (...))
    local holds = conditions.reader("wait", (select(taken + 1, ...)))
    local seconds = select(taken + 2, ...)
    if seconds ~= nil and (type(seconds) ~= "number" or seconds ~= seconds or seconds < 0) then
        misuse("wait: how many seconds? A number from 0 expected, not %s", tostring(seconds))
    end
    seconds = seconds or DEFAULT
    local till = core.now() + seconds
    local target, message, code = find_target(ports.bounded(port, seconds), named, till)
    if not target then
        return nil, message, code
    elseif port.is_closed() then
        return nil, "the client is closed", "closed"
    end
    local informer
    informer, message, code = client:informer { target.asked, namespace = target.namespace,
        fields = "metadata.name=" .. escape_value(target.name) }
    if not informer then
        return nil, message, code
    end
    local ok, object, problem, kind = pcall(watch_object, informer, target, holds,
        { till = till, seconds = seconds })
    informer:stop()
    if not ok then
        error(object, 0) -- the condition raised, or this task was cancelled
    end
    return object, problem, kind
end

return verb
