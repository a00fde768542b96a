-- The simulated API server as a cluster for conformance specs, in-process, or over loopback TLS
-- with a kubeconfig file. It has the same interface as backend_real.lua.
local core = require "kubelua.core"
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"

local backend = {}
backend.__index = backend

local function new(name, over_tls)
    local self = setmetatable({
        name = name,
        over_network = over_tls, -- clients have a URL and credentials
        tells_requests = true,   -- requests() says what was asked
        fails_on_demand = true,  -- sim:fail
    }, backend)
    self.call = function(request)
        return self.sim:call(request)
    end
    return self
end

local function write_kubeconfig(self)
    self.kubeconfig = os.tmpname()
    local file = assert(io.open(self.kubeconfig, "w"))
    file:write(assert(self.sim:kubeconfig()))
    file:close()
end

---Starts the simulated server unless it runs; returns the backend.
function backend:start()
    if not self.sim then
        self.sim = assert(Sim.new { no_controllers = true })
        if self.over_network then
            self.url = assert(self.sim:listen { tls = true })
            write_kubeconfig(self)
        end
    end
    return self
end

---Stops the simulated server.
function backend:stop()
    if self.sim then
        self.sim:close()
        self.sim = nil
    end
    if self.kubeconfig then
        os.remove(self.kubeconfig)
        self.kubeconfig = nil
    end
end

---A client under test: its requests can be refused or cut.
function backend:connect(options)
    local merged = {}
    if self.over_network then
        merged.kubeconfig = self.kubeconfig
    else
        merged.sim = self.sim
    end
    for name, option in pairs(options or {}) do
        merged[name] = option
    end
    return kubelua.connect(merged)
end

---Breaks all connections; with `on`, refuses new ones until it is called with false.
function backend:refuse(on)
    self.sim:refuse(on)
end

---Breaks all connections, once.
function backend:cut()
    self.sim:cut()
end

---Forgets all history.
function backend:compact()
    self.sim:compact()
end

---Returns { method =, target =, status = } of each request so far, including the backend's own
---requests.
function backend:requests()
    return self.sim:requests()
end

function backend:forget_requests()
    self.sim:requests_clear()
end

---Ends all faults.
function backend:heal()
    self.sim:heal()
end

---Creates `count` ConfigMaps and returns their namespace. All specs share them, as creating them
---takes long.
function backend:crowd(count)
    if self.crowded ~= self.sim then
        local items = {}
        for i = 1, count do
            items[i] = {
                apiVersion = "v1",
                kind = "ConfigMap",
                metadata = { name = string.format("c-%04d", i), namespace = "crowd" },
                data = { v = "1" },
            }
        end
        items[count + 1] = { apiVersion = "v1", kind = "Namespace", metadata = { name = "crowd" } }
        assert(self.sim:load(core.encode { apiVersion = "v1", kind = "List", items = items }))
        self.crowded = self.sim
    end
    return "crowd"
end

return { inprocess = new("inprocess", false), tls = new("tls", true) }
