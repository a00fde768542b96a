-- cluster:settle: waits until the clients of a simulated cluster have nothing left to do before
-- time passes: the caches hold all writes, handlers have seen them, controllers have reconciled
-- them.
local core = require "kubelua.core"
local idle = require "kubelua.controller.idle"
local informer_parts = require "kubelua.informer.parts"
local registrations = require "kubelua.registration"
local scheduler = require "kubelua.scheduler"
local simcore = require "kubelua.simcore"
local waiting = require "kubelua.waiting"

---@class kubelua.Sim
local methods = {}

local SECONDS = 10
local PAUSE = 0.005 -- real seconds between two checks

-- Says why a cache does not have every write so far; nil: it has. A write to other resources
-- reaches a cache only as a bookmark: so each watch is made to send one, after its other events.
local function check_cache(informer, version)
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

local function check_handlers(informer)
    for registration in pairs(informer_parts.registrations(informer)) do
        if not registrations.is_at_rest(registration) then
            return "a handler of " .. registrations.name(registration)
                .. " has not handled all its events"
        end
    end
end

local function check_client(client, version)
    local state, lags = core.state(client, "kubelua.client"), nil
    for informer in pairs(state.informers) do
        local left = check_cache(informer, version)
        if left then
            lags = left
        end
        left = left or check_handlers(informer)
        if left then
            return left, lags ~= nil
        end
    end
    return state.recorder and not state.recorder:is_at_rest()
        and "Events (of run:event or client:event) are being written" or nil
end

-- The first thing that is not at rest; the second result is true if a cache may wait for a
-- bookmark.
local function find_left(self)
    local state, version = simcore.state(self), simcore.version(self)
    for client in pairs(state.connected or {}) do
        local left, lags = check_client(client, version)
        if left then
            return left, lags
        end
    end
    for controller in pairs(state.controllers or {}) do
        local left = idle.left(controller)
        if left then
            return left
        end
    end
    return scheduler.has_ready() and "a task is ready to run" or nil
end

local function check_all(self)
    local left, lags = find_left(self)
    if lags then
        simcore.bookmark(self)
    end
    return left
end

---Waits, and dispatches events, until nothing is left to do before time passes: every cache of a
---client of this cluster holds every write so far, no handler has events that wait, no controller
---has a key that waits or runs. Delayed keys, and keys in backoff, stay.
---@param seconds number? of real time; default 10
---@return true?, string?, string? or nil, what is left, "timeout"
function methods:settle(seconds)
    if seconds ~= nil and type(seconds) ~= "number" then
        error("settle: how many seconds? A number expected, not a " .. type(seconds), 2)
    end
    seconds = seconds or SECONDS
    local till, quiet = core.now() + seconds, 0
    while true do
        local left = check_all(self)
        -- Two checks: a timer that is due fires in the round between.
        quiet = left and 0 or quiet + 1
        if quiet == 2 then
            return true
        elseif left and core.now() >= till then
            return nil, "still busy after " .. seconds .. " s: " .. left, "timeout"
        end
        waiting.wait("cluster:settle", PAUSE, function() return false end)
    end
end

return methods
