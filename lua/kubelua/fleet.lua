-- kubelua.fleet: calls a function of the script for each cluster that a source names. This file is
-- what scripts see; the files in fleet/ do the work. docs/FLEETS.md describes it.
local core = require "kubelua.core"
local here = require "kubelua.fleet.here"
local loop = require "kubelua.loop"
local misuse = require "kubelua.misuse"
local options_of = require "kubelua.fleet.options"
local State = require "kubelua.fleet.state"

---What kubelua.fleet returns.
---@class kubelua.Fleet
local Fleet = {}
Fleet.__index = Fleet
Fleet.__name = "kubelua.fleet"

-- The state of each fleet. Scripts cannot reach it.
local states = setmetatable({}, { __mode = "k" })

local function state_of(self)
    local state = states[self]
    if not state then
        misuse("a fleet expected, not a %s: call its methods with a colon, as in fleet:stop()",
            type(self))
    end
    return state
end

function Fleet:__tostring()
    return "kubelua." .. state_of(self).what
end

---The fleet, its source and its clusters.
---@return kubelua.FleetStatus
function Fleet:status()
    return state_of(self):status()
end

---What the function got for a cluster, while it runs here; else nil.
---@param name string
---@return kubelua.FleetCluster?
function Fleet:cluster(name)
    local cluster = state_of(self).clusters[name]
    return cluster and cluster.life and cluster.life.cluster or nil
end

---Ends all clusters, each with its grace.
function Fleet:stop()
    state_of(self):stop()
end

local fleets = {
    started = setmetatable({}, { __mode = "k" }), -- the states of all fleets: a weak set
}

---Calls a function for each cluster that a source names. Raises if an option is wrong. nil,
---message, code: it can never work, which is logged too, and the run ends with a failure.
---@param given kubelua.FleetOptions
---@return kubelua.Fleet?, string?, string?
function fleets.new(given)
    if here.life() then
        misuse("kubelua.fleet inside of a fleet's function: make it outside")
    end
    local where = core.script_line()
    local options, message, code = options_of.read(given)
    local state = options and State.new(options)
    local ok = state ~= nil
    if state then
        ok, message, code = state:start()
    end
    if not ok then
        loop.add_hopeless(where, "fleet " .. (given.name or "fleet"), message)
        return nil, message, code
    end
    fleets.started[state] = true
    local self = setmetatable({}, Fleet)
    states[self] = state
    return self
end

return fleets
