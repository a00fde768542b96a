-- The world of controllers' specs: a simulated cluster in this process, a client, and controllers
-- of ConfigMaps on the cluster's clock, which stands still unless a spec asks otherwise.
local core = require "kubelua.core"
local eventually = require "eventually"
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"
local simcore = require "kubelua.simcore"
local tasks = require "kubelua.tasks"

local unpacked = table.unpack or unpack -- luacheck: ignore 143 113

local world = {}
world.__index = world

---@param options table? of the cluster
function world.new(options)
    options = options or {}
    options.clock = options.clock or "fake"
    options.no_controllers = true -- such as the one that creates kube-root-ca.crt in each namespace
    local cluster = assert(Sim.new(options))
    local self = setmetatable({ cluster = cluster, client = assert(cluster:connect()),
        controllers = {}, runs = {}, lines = {}, write = core.log }, world)
    core.log = function(level, line) -- luacheck: ignore 122
        self.lines[#self.lines + 1] = level .. " " .. line
    end
    return self
end

---Calls a function while kubelua uses the cluster's clock. What the function starts keeps that
---clock afterwards.
function world:under_clock(f, ...)
    local before = tasks.clock
    tasks.clock = simcore.state(self.cluster).clock
    local results = { pcall(f, ...) }
    tasks.clock = before
    assert(results[1], results[2])
    return unpacked(results, 2)
end

---A controller; of ConfigMaps if the options name no resource. Its runs are listed in world.runs:
---each is "key", or what `reconcile` of the options notes.
function world:controller(options)
    if options[1] == nil and not options.keyless then
        options[1] = "configmaps"
    end
    options.keyless = nil
    options.name = options.name or "spec"
    options.client = options.client or self.client
    options.reconcile = options.reconcile or function(object)
        self:note(type(object) == "string" and object or object.key)
    end
    local controller = assert(self:under_clock(kubelua.controller, options))
    self.controllers[#self.controllers + 1] = controller
    return controller
end

---Returns what f(object, run) returns in the first run of a ConfigMap, and raises its error if it
---fails.
function world:in_run(name, f, options)
    local results
    options = options or {}
    options.fields = "metadata.name=" .. name
    options.reconcile = function(object, run)
        if not results then
            results = { pcall(f, object, run) }
            self:note("done")
        end
    end
    self:controller(options)
    self:noted()
    assert(results[1], results[2])
    return unpacked(results, 2, 6)
end

function world:note(what)
    self.runs[#self.runs + 1] = what
end

---Waits until there are `count` notes since the last call, and returns them.
---@param count integer? default 1
function world:noted(count)
    eventually(function() return #self.runs >= (count or 1) end, function()
        return "there are to be " .. (count or 1) .. " notes, and there are: "
            .. table.concat(self.runs, ", ")
    end)
    local runs = self.runs
    self.runs = {}
    return runs
end

---Waits for a note, and drops it with all notes before it. A controller's own change is an event
---too, so an extra run may have noted something.
---@param what string
---@return integer before how many notes came before it
function world:until_noted(what)
    local at
    eventually(function()
        for i, note in ipairs(self.runs) do
            at = at or (note == what and i or nil)
        end
        return at
    end, function()
        return "'" .. what .. "' among: " .. table.concat(self.runs, ", ") .. "\n"
            .. table.concat(self.lines, "\n")
    end, 10)
    for _ = 1, at do
        table.remove(self.runs, 1)
    end
    return at - 1
end

---Waits until the controller has synced, all caches hold every write, and no controller has a key
---queued or in progress.
function world:rest(controller)
    eventually(function() return controller:has_synced() end, "the controller has synced")
    assert(self.cluster:settle(60))
end

local function metadata_of(name, more)
    local metadata = { name = name }
    for field, value in pairs(more or {}) do
        metadata[field] = value
    end
    return metadata
end

---A ConfigMap; `more` is merged into its metadata.
function world.configmap(name, value, more)
    local metadata = metadata_of(name, more)
    metadata.namespace = metadata.namespace or "web"
    return { apiVersion = "v1", kind = "ConfigMap", metadata = metadata,
        data = { value = value or "1" } }
end

---A Secret without a namespace; `more` is merged into its metadata.
function world.secret(name, more)
    return { apiVersion = "v1", kind = "Secret", metadata = metadata_of(name, more),
        stringData = { a = "1" } }
end

---A Secret with a label whose value no server accepts: 422.
function world.wrong_secret(name)
    return world.secret(name, { labels = { a = "no value of a label!" } })
end

---How many patches and applies of Secrets its controllers have sent.
function world:count_sent()
    local count = 0
    for _, request in ipairs(self.cluster:requests { resource = "secrets", verb = "patch" }) do
        count = count + (request.controller and 1 or 0)
    end
    return count
end

---Creates or changes a ConfigMap, like another client.
function world:apply(name, value, more)
    return assert(self.cluster:apply(self.configmap(name, value, more)))
end

---Waits for a line of the log that matches; returns it.
function world:logged(pattern)
    return eventually(function()
        for _, line in ipairs(self.lines) do
            if line:find(pattern) then
                return line
            end
        end
    end, function()
        return "a line like '" .. pattern .. "' in:\n" .. table.concat(self.lines, "\n")
    end, 10)
end

---Counts the lines of the log that match.
function world:count_logged(pattern)
    local count = 0
    for _, line in ipairs(self.lines) do
        count = count + (line:find(pattern) and 1 or 0)
    end
    return count
end

function world:close()
    for _, controller in ipairs(self.controllers) do
        controller:stop()
    end
    eventually(function()
        for _, controller in ipairs(self.controllers) do
            if controller:status().state ~= "stopped" then
                return false
            end
        end
        return true
    end, "the controllers have stopped")
    core.log = self.write -- luacheck: ignore 122
    self.client:close()
    self.cluster:close()
end

return world
