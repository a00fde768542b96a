-- The world of one conformance spec: a namespace, clients and informers that end with it, and
-- another client that makes changes (admin.lua). ConfigMaps are the objects, data.v is their state.
local admin = require "admin"
local core = require "kubelua.core"
local eventually = require "eventually"
local recorder = require "recorder"

local scene = {}
scene.__index = scene

local made = 0

-- A name that is unique for each process: other processes use the cluster too, earlier or at the
-- same time.
local run = assert(io.open("/dev/urandom", "rb")):read(4):gsub(".", function(byte)
    return string.format("%02x", byte:byte())
end)

---@param cluster table see backend_sim.lua and backend_real.lua
function scene.new(cluster)
    made = made + 1
    local self = setmetatable({
        cluster = cluster,
        admin = admin.new(cluster.call),
        name = "spec-" .. run .. "-" .. made,
        clients = {},
        informers = {},
        recorders = {},
        calm = false, -- true: the spec has failed already, so unexpected events are ignored
    }, scene)
    self.namespace = self:add_namespace("")
    return self
end

---Adds a namespace for the spec; returns its name.
function scene:add_namespace(suffix)
    local name = self.name .. suffix
    self.admin:create("namespaces", nil, {
        metadata = { name = name, labels = { spec = self.name } },
    })
    return name
end

---A client for the spec; the first one is scene.client.
---@param options table? of kubelua.connect, beyond where the cluster is
function scene:connect(options)
    local client = assert(self.cluster:connect(options))
    self.clients[#self.clients + 1] = client
    self.client = self.client or client
    return client
end

---An informer; of the ConfigMaps in the spec's namespace if the options say nothing else.
---@param options table? of client:informer; and client
function scene:informer(options)
    local merged = { "configmaps", namespace = self.namespace }
    for name, option in pairs(options or {}) do
        merged[name] = option
    end
    local client = merged.client or self.client or self:connect()
    merged.client = nil
    local informer = assert(client:informer(merged))
    self.informers[#self.informers + 1] = informer
    return informer
end

---A recorder of an informer.
---@param informer kubelua.Informer? default: scene:informer()
---@param options table? of informer:on
function scene:record(informer, options)
    local made_recorder = recorder.new(informer or self:informer(), self.namespace, options)
    self.recorders[#self.recorders + 1] = made_recorder
    return made_recorder
end

---Creates a ConfigMap. @return the object as the server made it
function scene:create(name, value, labels)
    return self.admin:create("configmaps", self.namespace, {
        metadata = { name = name, labels = labels },
        data = { v = value or "1" },
    })
end

---Changes a ConfigMap's value, and its labels if there are any.
function scene:update(name, value, labels)
    return self.admin:update("configmaps", self.namespace, name, function(object)
        object.data = { v = value }
        object.metadata.labels = labels or object.metadata.labels
    end)
end

function scene:delete(name)
    self.admin:delete("configmaps", self.namespace, name)
end

---Deletes a ConfigMap and creates another of its name.
function scene:recreate(name, value)
    self:delete(name)
    return self:create(name, value)
end

-- Waits until each informer has noticed that it cannot connect.
local function until_they_notice(self, before)
    for i, informer in ipairs(self.informers) do
        eventually(function()
            return informer:status().failures > before[i]
        end, "an informer notices that the server is gone")
    end
end

---Makes the server unreachable for the spec's clients; returns when their informers have noticed.
function scene:disconnect()
    local before = {}
    for i, informer in ipairs(self.informers) do
        before[i] = informer:status().failures
    end
    self.cluster:refuse(true)
    until_they_notice(self, before)
end

function scene:reconnect()
    self.cluster:refuse(false)
end

---Makes the server forget the history of changes while no client is connected, so that no watch can
---be resumed.
function scene:forget_history()
    self.cluster:compact()
end

---The requests so far for ConfigMaps in the spec's namespace, if the cluster records them.
---@return string[] targets
function scene:requests()
    local targets = {}
    for _, request in ipairs(self.cluster:requests()) do
        local ours = request.target:find(self.namespace .. "/configmaps?", 1, true)
        if request.method == "GET" and ours then
            targets[#targets + 1] = request.target
        end
    end
    return targets
end

---Ends everything; fails if a recorder has an event that it should not have.
function scene:close()
    self.cluster:heal()
    local ok, problem = true, nil
    for _, watched in ipairs(self.recorders) do
        local fine, message = pcall(watched.close, watched)
        if not fine and ok then
            ok, problem = false, message
        end
    end
    for _, informer in ipairs(self.informers) do
        informer:stop()
    end
    for _, client in ipairs(self.clients) do
        client:close()
    end
    if not ok and not self.calm then
        error(problem, 0)
    end
end

---Seconds that a call took.
function scene.seconds(f, ...)
    local before = core.now()
    f(...)
    return core.now() - before
end

return scene
