-- cluster:run: runs a script under test in this process, with this cluster.
local scheduler = require "kubelua.scheduler"
local simcore = require "kubelua.simcore"

---@class kubelua.Sim
local methods = {}

-- Calls a function with the cluster's clock. kubelua.connect finds the cluster through the clock,
-- and tasks keep their clock, so they find the cluster later too.
local function call_with_clock(self, f)
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

---Runs a script whose kubelua.connect() opens this cluster, then and later. Returns what the script
---returns, and raises what it raises. Its handlers run when the test waits, such as in
---cluster:eventually. If the cluster has a fake clock, its timers follow cluster:advance.
---@param path string
---@param ... any the arguments of the script
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
    return call_with_clock(self, function()
        return chunk((table.unpack or unpack)(arguments, 1, arguments.n))
    end)
end

---Closes the cluster, and the clients and timers of the scripts that it ran.
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
