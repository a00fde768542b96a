-- A script under test: as kubelua run starts it, but in this process and with this cluster.
local scheduler = require "kubelua.scheduler"

local methods = {}

-- What kubelua.connect gives to whoever names no other cluster, and whose time passes.
local function with_defaults(self, f)
    local Client = require "kubelua.client"
    local defaults, connect, clock = Client.defaults, Client.connected, scheduler.clock
    Client.defaults = { sim = self }
    scheduler.clock = self.clock
    Client.connected = function(client)
        self.clients = self.clients or {}
        self.clients[#self.clients + 1] = client
    end
    local results = { pcall(f) }
    Client.defaults, Client.connected, scheduler.clock = defaults, connect, clock
    if not results[1] then
        error(results[2], 0)
    end
    return (table.unpack or unpack)(results, 2)
end

---Runs a script whose kubelua.connect() leads to this cluster; returns what it returns. Its
---handlers run whenever the test waits, such as in cluster:eventually. Where the cluster's clock is
---a fake one, its timers follow cluster:advance. Raises what it raises.
---@param path string
---@param ... any what it gets as `...`
---@return any ...
function methods:run(path, ...)
    if type(path) ~= "string" then
        error("run: the path of a script expected, not a " .. type(path), 2)
    end
    local chunk, message = loadfile(path)
    if not chunk then
        error("run: " .. message, 2)
    end
    local arguments = { n = select("#", ...), ... }
    return with_defaults(self, function()
        return chunk((table.unpack or unpack)(arguments, 1, arguments.n))
    end)
end

---Ends the cluster, and the clients and timers of the scripts that it ran.
function methods:close()
    self.clock:close()
    for _, client in ipairs(self.clients or {}) do
        client:close()
    end
    self.clients = nil
    self.closed = true
    self.box:close()
end

return methods
