-- Finds a kind, and the path of its objects, by any name: "pods", "Pod", "po", "deployments.apps",
-- "apps/v1/Deployment", or the apiVersion and kind of an object. Built-in names need no request.
-- For other names the server's discovery is asked: once for all tasks that wait, and again for an
-- unknown name, because a custom resource may have been defined meanwhile.
local core = require "kubelua.core"
local discovery = require "kubelua.verbs.discovery"
local loop = require "kubelua.loop"
local scheduler = require "kubelua.scheduler"

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
---@field asked_at number when that answer came, on the clock of kubelua.core.now
---@field flight { landed: boolean, message: string?, code: string? }? a request under way

-- Seconds: discovery is not asked again while its answer is younger than this.
local YOUNG = 1

local function known_to(port)
    local known = port.kinds
    if not known then
        known = { builtin = {}, asked_at = -math.huge }
        port.kinds = known
    end
    return known
end

-- Asks the server, for all tasks that wait. They look again once `landed` is true.
local function ask_server(port, known)
    local flight = { landed = false }
    known.flight = flight
    local ok, all, message, code = pcall(discovery.read, port.send, port.till)
    known.flight = nil
    flight.landed = true
    scheduler.poller:wake()
    if not ok then
        error(all, 0) -- this task was cancelled; the next task that waits asks
    elseif not all then
        flight.message, flight.code = message, code
        return nil, message, code
    end
    known.all, known.asked_at = all, core.now()
    return all
end

-- The catalogue: the known one if it is young (see YOUNG and port.young), else the server is asked.
local function fetch_catalogue(port, known)
    while known.flight do
        local flight = known.flight
        local left = port.till and math.max(0, port.till - core.now())
        local is_landed, is_ended = loop.wait("a verb", left, function() return flight.landed end)
        if is_ended then
            return nil, loop.CANCELED, "canceled"
        elseif not is_landed then
            return nil, "discovery: it was not complete in time", "timeout"
        elseif flight.message and flight.code ~= "timeout" then -- the time of that call only
            return nil, flight.message, flight.code
        end
    end
    if known.all and core.now() - known.asked_at < (port.young or YOUNG) then
        return known.all
    end
    return ask_server(port, known)
end

local function find_builtin(known, name)
    local kind = known.builtin[name]
    if kind == nil then
        kind = not name:find("%z") and core.builtin_kind(name) or false
        known.builtin[name] = kind
    end
    return kind
end

---Finds a kind by any of its names.
---@param port kubelua.Port
---@param name string
---@return kubelua.Kind?, string?, string?
function kinds.find(port, name)
    local known = known_to(port)
    local found = known.all and known.all:find(name) or not known.all and find_builtin(known, name)
    if found then
        return found
    end
    local all, message, code = fetch_catalogue(port, known)
    if not all then
        return nil, message, code
    end
    found = all:find(name)
    if found then
        return found
    end
    return all:refuse(name)
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
    local all, message, code = fetch_catalogue(port, known_to(port))
    if not all then
        return nil, message, code
    end
    local found = all:find(name)
    if found then
        return found
    end
    return all:refuse(name)
end

---Makes the next unknown name ask the server, even if its last answer is recent: a custom resource
---definition was written.
---@param port kubelua.Port
function kinds.doubt(port)
    known_to(port).asked_at = -math.huge
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
