-- Finds a kind, and the path of its objects, by any name: "pods", "Pod", "po", "deployments.apps",
-- "apps/v1/Deployment", or the apiVersion and kind of an object. Built-in names need no request.
-- For other names the server's discovery is asked: once for all tasks that wait, and again for an
-- unknown name, because a custom resource may have been defined meanwhile.
local core = require "kubelua.core"
local survey = require "kubelua.verbs.survey"
local waiting = require "kubelua.waiting"

local kinds = {}

---@class kubelua.Kind a resource that the server serves
---@field api_version string "apps/v1"
---@field group string "" for the core group
---@field version string "v1"
---@field kind string "Deployment"
---@field plural string "deployments"
---@field namespaced boolean
---@field has_status boolean it has the subresource status
---@field subresources table<string, boolean>? nil if discovery was not asked

-- Seconds: discovery is not asked again while its reply is younger than this.
local YOUNG = 1

local function known_to(port)
    local known = port.kinds
    if not known then
        known = { builtin = {}, groups = {}, queue = {}, workers = 0 }
        port.kinds = known
    end
    return known
end

-- Seconds between questions for a group, while the server does not know yet if it has the group;
-- and how long a call without a timeout asks.
local FIRST_PAUSE, LONGEST_PAUSE, LIMIT = 0.1, 1, 30

-- Waits until the condition is true, or the time of the call is over; until `till`, if that comes
-- first.
local function wait_until(port, till, what, condition)
    local ends_at = math.min(port.till or math.huge, till or math.huge)
    local left = ends_at < math.huge and math.max(0, ends_at - core.now()) or nil
    local is_true, is_ended = waiting.wait("a verb", left, condition)
    if is_ended then
        return nil, waiting.CANCELED, "canceled"
    elseif not is_true and (port.till or math.huge) <= core.now() then
        return nil, "discovery: it was not complete in time: " .. what .. " has not answered",
            "timeout"
    end
    return true
end

-- Waits for the answer to a question. `what`: it is asked about this, for the message.
local function wait_for_answer(port, known, question, what)
    question.waiting = question.waiting + 1
    local ok, result, message, code = pcall(wait_until, port, nil, what, function()
        return question.is_over
    end)
    question.waiting = question.waiting - 1
    if question.waiting == 0 then
        survey.abandon(known, question)
    end
    if not ok then
        error(result, 0)
    elseif not result then
        return nil, message, code
    end
    return question.code == nil, question.message, question.code
end

-- Waits for the versions of groups that a name may mean.
local function wait_for_slots(port, known, name, anew)
    local function awaited()
        local slot, till = known.all:awaited(name, anew)
        return slot and slot.state == "asked" and slot, till, slot
    end
    local slot, till, failed = awaited()
    while slot do
        local ok, message, code = wait_until(port, till,
            (slot.group == "" and "/api/" or "/apis/" .. slot.group .. "/") .. slot.version,
            function() return awaited() ~= slot end)
        if not ok then
            return nil, message, code
        end
        slot, till, failed = awaited()
    end
    if failed then
        return nil, failed.message, failed.code
    end
    return true
end

-- True if the last reply is so young that the server is not asked again (see YOUNG, port.young).
local function is_young(port, known, name, anew)
    local roots = known.roots
    if not roots or not roots.is_over then
        return roots ~= nil
    end
    local slot = known.all and known.all:awaited(name, anew)
    return roots.code == nil and core.now() - roots.at < (port.young or YOUNG)
        and not (slot and slot.state == "failed")
end

-- True if the end of a run has cancelled a question that other calls wait for, too.
local function is_for_others(message, code)
    return code == "canceled" and message == nil
end

-- Waits until it is certain what a name means, as far as the server tells; asks it if need be.
local function learn(port, known, name, anew)
    local roots, base = known.roots, port.base or port -- it goes on when this call has ended
    local ok, message, code
    if is_young(port, known, name, anew) then
        survey.hurry(base, known, name)
    else
        roots = survey.begin(base, known, name)
    end
    ok, message, code = wait_for_answer(port, known, roots, "the server")
    if ok then
        ok, message, code = wait_for_slots(port, known, name, anew)
    end
    local may_go_on = is_for_others(message, code) or code == "timeout"
    if not ok and may_go_on and (port.till or 0) > core.now() then
        return learn(port, known, name, anew)
    end
    return ok, message or waiting.CANCELED, code
end

-- The question for a group by its name. It is sent again if it failed; while the server does not
-- know the answer, at most so often (see FIRST_PAUSE).
local function ask_group(port, known, group, name)
    local former = known.groups[group]
    local is_early = former and former.is_early
    if former and (not former.code or not former.is_over
        or is_early and core.now() < former.at + former.pause) then
        return former
    end
    local question = survey.begin_group(port.base or port, known, group, name)
    question.pause = is_early and math.min(2 * former.pause, LONGEST_PAUSE) or FIRST_PAUSE
    return question
end

local function refuse_early(group, question)
    local path = "/apis/" .. group
    if question.code == "timeout" then
        return nil, "discovery: it was not complete in time: " .. path .. " has not answered",
            "timeout"
    end
    return nil, "the server does not know yet if it serves the group " .. group .. ", as when it "
        .. "has just started (" .. path .. ": " .. tostring(question.message) .. "); try again "
        .. "later, or with a longer timeout; if it stays so, kubectl get --raw '/readyz?verbose' "
        .. "names what the server waits for", "unavailable"
end

-- Waits until a question that the server cannot answer yet may be sent again.
local function wait_for_pause(question, group, till)
    local again_at = math.min(question.at + question.pause, till)
    local _, is_ended = waiting.wait("a verb", math.max(0, again_at - core.now()), function()
        return false
    end)
    if is_ended then
        return nil, waiting.CANCELED, "canceled"
    elseif core.now() >= till then
        return refuse_early(group, question)
    end
    return true
end

-- Asks for a group that the list of groups leaves out, until the server says if it has the group.
local function learn_group(port, known, group, name)
    local till = port.till or core.now() + LIMIT
    local ok, message, code, goes_on
    repeat
        local question = ask_group(port, known, group, name)
        ok, message, code = wait_for_answer(port, known, question, "/apis/" .. group)
        if not ok and question.is_early and port.client then
            ok, message, code = wait_for_pause(question, group, till)
            goes_on = ok
        else
            goes_on = is_for_others(message, code) and till > core.now()
        end
    until not goes_on
    return ok, message or waiting.CANCELED, code
end

local function find_builtin(known, name)
    local kind = known.builtin[name]
    if kind == nil then
        kind = not name:find("%z") and core.builtin_kind(name) or false
        known.builtin[name] = kind
    end
    return kind
end

-- What is known of a name without a request.
local function find_known(known, name)
    local builtin = find_builtin(known, name)
    if known.all then
        return known.all:find_certain(name, builtin)
    end
    return builtin or nil
end

local function find_or_refuse(port, known, name, anew)
    local ok, message, code = learn(port, known, name, anew)
    if not ok then
        return nil, message, code
    end
    local found = known.all:find(name)
    local group = (anew or not found) and known.all:unlisted_group(name)
    if group then
        ok, message, code = learn_group(port, known, group, name)
        if ok then
            ok, message, code = wait_for_slots(port, known, name, anew)
        end
        if not ok then
            return nil, message, code
        end
        found = known.all:find(name)
    end
    if found then
        return found
    end
    return known.all:refuse(name)
end

---Finds a kind by any of its names.
---@param port kubelua.Port
---@param name string
---@return kubelua.Kind?, string?, string?
function kinds.find(port, name)
    local known = known_to(port)
    local found = find_known(known, name)
    if found then
        return found
    end
    return find_or_refuse(port, known, name)
end

---Finds the kind of an object.
---@param port kubelua.Port
---@param api_version string
---@param kind string
---@return kubelua.Kind?, string?, string?
function kinds.of(port, api_version, kind)
    return kinds.find(port, api_version .. "/" .. kind)
end

---Finds a kind again, after the server answered 404: it no longer serves the old path.
---@param port kubelua.Port
---@param name string the name that was asked for
---@return kubelua.Kind?, string?, string?
function kinds.again(port, name)
    return find_or_refuse(port, known_to(port), name, true)
end

---Makes the next unknown name ask the server, even if its last reply is recent: a custom resource
---definition was written.
---@param port kubelua.Port
function kinds.doubt(port)
    local roots = known_to(port).roots
    if roots then
        roots.at = -math.huge
    end
end

-- Percent-encodes a segment of a path (RFC 3986).
local function encode_path_segment(text)
    if not text:find("[^%w%-._~:@]") then
        return text
    end
    return (text:gsub("[^%w%-._~:@]", function(byte)
        return string.format("%%%02X", byte:byte())
    end))
end

---The path of a collection, or of one object in it.
---@param kind kubelua.Kind
---@param namespace string?
---@param name string?
---@param subresource string?
---@return string
function kinds.path(kind, namespace, name, subresource)
    local path = (kind.group == "" and "/api/" or "/apis/") .. kind.api_version
    if kind.namespaced and namespace then
        path = path .. "/namespaces/" .. encode_path_segment(namespace)
    end
    path = path .. "/" .. kind.plural
    if name then
        path = path .. "/" .. encode_path_segment(name)
    end
    return subresource and path .. "/" .. encode_path_segment(subresource) or path
end

return kinds
