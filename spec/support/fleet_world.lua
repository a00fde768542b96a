-- The world of fleets' specs: several simulated clusters in this process, a fleet that a table of
-- the spec names, and the lines of its log.
local core = require "kubelua.core"
local eventually = require "eventually"
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"

local world = {}
world.__index = world

function world.new()
    local self = setmetatable({ sims = {}, named = {}, fleets = {}, lines = {}, notes = {},
        write = core.log }, world)
    core.log = function(level, line) -- luacheck: ignore 122
        self.lines[#self.lines + 1] = level .. " " .. line
    end
    return self
end

---A simulated cluster, which the spec may reach as its administrator.
function world:sim(options)
    options = options or {}
    options.no_controllers = true
    local sim = assert(Sim.new(options))
    self.sims[#self.sims + 1] = sim
    return sim
end

---A fleet of what `self.named` has: options of connect by name. `f` is its function.
function world:fleet(f, options)
    local given = { name = "shop", interval = 0.02, source = function() return self.named end, f }
    for name, value in pairs(options or {}) do
        given[name] = value
    end
    local fleet = assert(kubelua.fleet(given))
    self.fleets[#self.fleets + 1] = fleet
    return fleet
end

function world:note(format, ...)
    self.notes[#self.notes + 1] = format:format(...)
end

---The function of a fleet: a controller of ConfigMaps that notes "CLUSTER KEY" for each run.
function world:noting()
    return function(cluster)
        kubelua.controller { "configmaps", namespace = "web", reconcile = function(object)
            self:note("%s %s", cluster.name, object.key)
        end }
    end
end

---A ConfigMap in a cluster.
function world.apply(sim, name, value)
    return assert(sim:apply { apiVersion = "v1", kind = "ConfigMap",
        data = { value = value or "1" }, metadata = { name = name, namespace = "web" } })
end

---Waits until the notes are these, in any order, and drops them.
function world:noted(...)
    local wanted = { ... }
    table.sort(wanted)
    wanted = table.concat(wanted, ", ")
    eventually(function()
        table.sort(self.notes)
        return table.concat(self.notes, ", ") == wanted
    end, function()
        return wanted .. "; there are: " .. table.concat(self.notes, ", ") .. "\n"
            .. table.concat(self.lines, "\n")
    end, 20)
    self.notes = {}
end

---The status of a cluster; nil: the fleet has none of that name.
function world.of(fleet, name)
    for _, cluster in ipairs(fleet:status().clusters) do
        if cluster.name == name then
            return cluster
        end
    end
end

---Waits until a cluster is in a state; nil: until it is gone. Returns its status.
function world:until_in(fleet, name, state)
    eventually(function()
        local cluster = self.of(fleet, name)
        return (cluster and cluster.state) == state
    end, function()
        return name .. " is to be " .. tostring(state) .. "; it is " .. kubelua.json(fleet:status())
            .. "\n" .. table.concat(self.lines, "\n")
    end, 20)
    return self.of(fleet, name)
end

---Waits for a line of the log that has a text.
function world:logged(text)
    return eventually(function()
        for _, line in ipairs(self.lines) do
            if line:find(text, 1, true) then
                return line
            end
        end
    end, function()
        return "a line with '" .. text .. "' in:\n" .. table.concat(self.lines, "\n")
    end, 20)
end

---Stops a fleet, and waits until it has no cluster.
function world.stop(fleet)
    fleet:stop()
    eventually(function() return #fleet:status().clusters == 0 end, "the fleet has ended", 20)
end

function world:close()
    for _, fleet in ipairs(self.fleets) do
        self.stop(fleet)
    end
    core.log = self.write -- luacheck: ignore 122
    for _, sim in ipairs(self.sims) do
        sim:heal()
        sim:close()
    end
end

return world
