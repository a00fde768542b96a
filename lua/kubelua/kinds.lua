-- Which path a kind has: "pods", "Pod", "po", "deployments.apps", "apps/v1/Deployment", or what an
-- object says of itself. Built-in names need no question; for others the server's discovery is
-- asked once for all that wait, and again where a name is unknown: a definition may have come.
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
---@field has_status boolean its status is written through a subresource
---@field subresources table<string, boolean>? nil where discovery was not asked

---What a port knows of its server's kinds.
---@class kubelua.Kinds
---@field builtin table<string, kubelua.Kind> by name, as asked
---@field all kubelua.Catalogue? nil before the first answer
---@field asked_at number when that came, on the clock of kubelua.core.now
---@field flight { landed: boolean, message: string?, code: string? }? a question under way

-- Seconds: an answer this young is not asked for again.
local YOUNG = 1

local function known_to(port)
    local known = port.kinds
    if not known then
        known = { builtin = {}, asked_at = -math.huge }
        port.kinds = known
    end
    return known
end

-- Asks the server, for all that wait: they look again once the flight has landed.
local function fly(port, known)
    local flight = { landed = false }
    known.flight = flight
    local ok, all, message, code = pcall(discovery.read, port.send)
    known.flight = nil
    flight.landed = true
    scheduler.poller:wake()
    if not ok then
        error(all, 0) -- this task was cancelled: the next one that waits asks
    elseif not all then
        flight.message, flight.code = message, code
        return nil, message, code
    end
    known.all, known.asked_at = all, core.now()
    return all
end

-- The catalogue, if it is younger than a second, or asked for now.
local function fresh(port, known)
    while known.flight do
        local flight = known.flight
        local _, is_ended = loop.wait("a verb", nil, function() return flight.landed end)
        if is_ended then
            return nil, loop.CANCELED, "canceled"
        elseif flight.message then
            return nil, flight.message, flight.code
        end
    end
    if known.all and core.now() - known.asked_at < (port.young or YOUNG) then
        return known.all
    end
    return fly(port, known)
end

local function builtin(known, name)
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
    local found = known.all and known.all:find(name) or not known.all and builtin(known, name)
    if found then
        return found
    end
    local all, message, code = fresh(port, known)
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

---Looks a kind up again, as the server has answered that it does not serve the path.
---@param port kubelua.Port
---@param name string as it was asked for
---@return kubelua.Kind?, string?, string?
function kinds.again(port, name)
    local all, message, code = fresh(port, known_to(port))
    if not all then
        return nil, message, code
    end
    local found = all:find(name)
    if found then
        return found
    end
    return all:refuse(name)
end

---Has the next unknown name ask the server, however young its last answer is: a definition was
---written.
---@param port kubelua.Port
function kinds.doubt(port)
    known_to(port).asked_at = -math.huge
end

-- A segment of a path (RFC 3986).
local function escape(text)
    return (text:gsub("[^%w%-._~:@]", function(byte)
        return string.format("%%%02X", byte:byte())
    end))
end

---The path of a collection, or of an object in it.
---@param kind kubelua.Kind
---@param namespace string?
---@param name string?
---@param subresource string?
---@return string
function kinds.path(kind, namespace, name, subresource)
    local path = (kind.group == "" and "/api/" or "/apis/") .. kind.api_version
    if kind.namespaced and namespace then
        path = path .. "/namespaces/" .. escape(namespace)
    end
    path = path .. "/" .. kind.plural
    if name then
        path = path .. "/" .. escape(name)
    end
    return subresource and path .. "/" .. escape(subresource) or path
end

return kinds
