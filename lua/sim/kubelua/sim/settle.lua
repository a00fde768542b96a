-- Waiting until all is done that a simulated cluster's clients can do before time passes: what has
-- been written is in their caches, handlers have been told of it, controllers have reconciled it.
local core = require "kubelua.core"
local informer_parts = require "kubelua.informer_parts"
local loop = require "kubelua.loop"
local registrations = require "kubelua.registration"
local rest = require "kubelua.controller.rest"
local scheduler = require "kubelua.scheduler"
local simcore = require "kubelua.simcore"

---@class kubelua.Sim
local methods = {}

local SECONDS = 10
local PAUSE = 0.005 -- between two looks, of the machine's time

-- What keeps a cache from having every write so far. Bookmarks tell a cache of writes that are none
-- of its own: each watch is to send one, behind all that it has to tell.
local function of_cache(informer, version)
    local at = core.informer_told_version(informer)
    if at ~= "" and (core.compare_versions(at, version) or 0) >= 0 then
        return nil
    end
    local status = informer:status()
    if status.state == "stopped" then
        return nil
    end
    return string.format("the cache of %s is at version %s, the cluster at %s (%s%s)",
        informer_parts.tell(informer), at == "" and "none" or at, version, status.state,
        status.error and ": " .. status.error or "")
end

local function of_handlers(informer)
    for registration in pairs(informer_parts.registrations(informer)) do
        if not registrations.is_at_rest(registration) then
            return "a handler of " .. registrations.name(registration)
                .. " has not done with its events"
        end
    end
end

local function of_client(client, version)
    local state, lags = core.state(client, "kubelua.client"), nil
    for informer in pairs(state.informers) do
        local left = of_cache(informer, version)
        if left then
            lags = left
        end
        left = left or of_handlers(informer)
        if left then
            return left, lags ~= nil
        end
    end
    return state.recorder and not state.recorder:is_at_rest() and "events are being written" or nil
end

-- The first that is not at rest; and true if a cache may be waiting for a bookmark.
local function find_left(self)
    local state, version = simcore.state(self), simcore.version(self)
    for client in pairs(state.connected or {}) do
        local left, lags = of_client(client, version)
        if left then
            return left, lags
        end
    end
    for controller in pairs(state.controllers or {}) do
        local left = rest.left(controller)
        if left then
            return left
        end
    end
    return scheduler.has_ready() and "a task goes on" or nil
end

local function look(self)
    local left, lags = find_left(self)
    if lags then
        simcore.bookmark(self)
    end
    return left
end

---Waits, and dispatches meanwhile, until nothing is left to do before time passes: every cache of a
---client of this cluster holds every write so far, no handler has events that wait, no controller
---has a key that waits or runs. Keys that are delayed, or in backoff, stay so.
---@param seconds number? of real time; default 10
---@return true?, string?, string? or nil, what is left, "timeout"
function methods:settle(seconds)
    if seconds ~= nil and type(seconds) ~= "number" then
        error("settle: how many seconds? A number expected, not a " .. type(seconds), 2)
    end
    seconds = seconds or SECONDS
    local till, quiet = core.now() + seconds, 0
    while true do
        local left = look(self)
        -- Twice: a timer that is due fires in the round between.
        quiet = left and 0 or quiet + 1
        if quiet == 2 then
            return true
        elseif left and core.now() >= till then
            return nil, "not at rest after " .. seconds .. " s: " .. left, "timeout"
        end
        loop.wait("cluster:settle", PAUSE, function() return false end)
    end
end

return methods
