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

---What a port knows about its server's kinds.
---@class kubelua.Kinds
---@field builtin table<string, kubelua.Kind> by the name that was asked for
---@field all kubelua.Catalogue? nil before the first answer of discovery
---@field roots kubelua.Roots? the last question for the groups; nil: it does not count any more
---@field queue kubelua.Slot[] versions that have to be asked for their kinds, the next one last
---@field workers integer how many tasks ask for them

-- Seconds: discovery is not asked again while its answer is younger than this.
local YOUNG = 1

local function known_to(port)
    local known = port.kinds
    if not known then
        known = { builtin = {}, queue = {}, workers = 0 }
        port.kinds = known
    end
    return known
end

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

local function wait_for_roots(port, known, roots)
    roots.waiting = roots.waiting + 1
    local ok, result, message, code = pcall(wait_until, port, nil, "the server", function()
        return roots.is_over
    end)
    roots.waiting = roots.waiting - 1
    if roots.waiting == 0 then
        survey.abandon(known, roots)
    end
    if not ok then
        error(result, 0)
    elseif not result then
        return nil, message, code
    end
    return roots.code == nil, roots.message, roots.code
end

-- Waits for the groups that a name may mean.
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

-- True if the last answer is so young that the server is not asked again (see YOUNG, port.young).
local function is_young(port, known, name, anew)
    local roots = known.roots
    if not roots or not roots.is_over then
        return roots ~= nil
    end
    local slot = known.all and known.all:awaited(name, anew)
    return roots.code == nil and core.now() - roots.at < (port.young or YOUNG)
        and not (slot and slot.state == "failed")
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
    ok, message, code = wait_for_roots(port, known, roots)
    if ok then
        ok, message, code = wait_for_slots(port, known, name, anew)
    end
    local is_for_others = code == "canceled" and message == nil -- the end of a run cancelled it
    if not ok and (is_for_others or code == "timeout") and (port.till or 0) > core.now() then
        return learn(port, known, name, anew)
    end
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

---Makes the next unknown name ask the server, even if its last answer is recent: a custom resource
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
