-- A connection to one API server.
local core = require "kubelua.core"
local scheduler = require "kubelua.scheduler"
local Informer = require "kubelua.informer"

---What kubelua.connect returns.
---@class kubelua.Client
local Client = {}
Client.__index = Client

-- What the command line says: the options of a connect that says nothing else.
Client.defaults = {}

-- What the command line records: every informer that is made.
Client.recorder = nil ---@type kubelua.Recorder?

-- A way into a simulated cluster, made by that module.
local function transport_into(cluster, token)
    if type(cluster) ~= "table" or not cluster.box then
        error("connect: 'sim' must be a cluster, such as require(\"kubelua.sim\").new(), not a "
            .. type(cluster), 3)
    end
    return cluster.box:transport(token)
end

---Makes a client; does not wait for the network.
---@param options table?
---@return kubelua.Client?, string?, string?
function Client.connect(options)
    if options ~= nil and type(options) ~= "table" then
        error("connect: a table of options expected, not a " .. type(options), 2)
    end
    -- Of a script under test, also of what it spawned and of its handlers: tasks keep their clock.
    local cluster = scheduler.clock_here().cluster
    local merged = {}
    for key, value in pairs(cluster and { sim = cluster } or Client.defaults) do
        merged[key] = value
    end
    for key, value in pairs(options or {}) do
        merged[key] = value
    end
    if options and (options.server or options.kubeconfig) then
        merged.sim = options.sim -- a cluster that is named wins over --sim
    end
    local transport
    if merged.sim ~= nil then
        local problem, problem_code
        transport, problem, problem_code = transport_into(merged.sim, merged.token)
        if not transport then
            return nil, problem, problem_code
        end
    end
    -- What events wait in: a lack of descriptors is told here, not by the first handler.
    local open, problem, problem_code = scheduler.poller:open()
    if not open then
        return nil, problem, problem_code
    end
    local box, message, code = core.connect(merged, transport)
    if not box then
        return nil, message, code
    end
    local self = setmetatable({
        box = box,
        informers = setmetatable({}, { __mode = "k" }),
        -- A simulated cluster has no configuration to take it from.
        name_space = transport and merged.namespace or nil,
    }, Client)
    if cluster and cluster.clients then
        cluster.clients[#cluster.clients + 1] = self
    end
    return self
end

---Joins, or starts, the shared informer of a resource, scope and selectors.
---@param options table|string
---@return kubelua.Informer?, string?, string?
function Client:informer(options)
    local informer, message, code = Informer.new(self.box, options)
    if not informer then
        return nil, message, code
    end
    self.informers[informer] = true
    if Client.recorder then
        Client.recorder:attach(informer, options)
    end
    return informer
end

---One raw request: status, body, content type; blocks the whole script until it is answered.
---@param request table method ("GET"), target, body, type, accept, timeout (seconds)
---@return integer?, string?, string?
function Client:call(request)
    return self.box:call(request)
end

---The namespace of its configuration.
---@return string
function Client:namespace()
    local configured = self.box:namespace()
    return self.name_space or configured
end

---Ends every informer and call of it: no handler of theirs runs any more. What they have can
---still be read.
function Client:close()
    for informer in pairs(self.informers) do
        informer:retire()
    end
    self.informers = {}
    self.box:close()
end

function Client:__tostring()
    return "kubelua.client"
end

return Client
