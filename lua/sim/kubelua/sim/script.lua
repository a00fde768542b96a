-- A script under test: as kubelua run starts it, but in this process and with this cluster.
local scheduler = require "kubelua.scheduler"
local simcore = require "kubelua.simcore"

---@class kubelua.Sim
local methods = {}

-- Calls it with the cluster's clock, by which kubelua.connect knows where a script under test is:
-- what it starts keeps that clock, and so finds the same cluster later.
local function under_clock(self, f)
    local before, state = scheduler.clock, simcore.state(self)
    state.clock.cluster, state.clients = self, state.clients or {}
    scheduler.clock = state.clock
    local results = { pcall(f) }
    scheduler.clock = before
    if not results[1] then
        error(results[2], 0)
    end
    return (table.unpack or unpack)(results, 2)
end

---Runs a script whose kubelua.connect() leads to this cluster, whenever it calls it; returns what
---it returns. Its handlers run whenever the test waits, such as in cluster:eventually. Where the
---cluster's clock is a fake one, its timers follow cluster:advance. Raises what it raises.
---@param path string
---@param ... any what it gets as `...`
---@return any ...
function methods:run(path, ...)
    if type(path) ~= "string" then
        error("run: the path of a script expected, not a " .. type(path), 2)
    end
    if simcore.state(self).is_closed then
        error("run: the cluster is closed", 2)
    end
    local chunk, message = loadfile(path)
    if not chunk then
        error("run: " .. message, 2)
    end
    local arguments = { n = select("#", ...), ... }
    return under_clock(self, function()
        return chunk((table.unpack or unpack)(arguments, 1, arguments.n))
    end)
end

---Ends the cluster, and the clients and timers of the scripts that it ran.
function methods:close()
    local state = simcore.state(self)
    state.clock:close()
    for _, client in ipairs(state.clients or {}) do
        client:close()
    end
    state.clients = nil
    state.is_closed = true
    simcore.close(self)
end

return methods
