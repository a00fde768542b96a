-- Controllers for a simulated cluster: nodes, a scheduler, a kubelet, and the controllers of
-- Deployments, ReplicaSets, Jobs and EndpointSlices. Each is a kubelua.controller; a file in
-- controllers/ returns its options.
local core = require "kubelua.core"
local kubelua = require "kubelua"
local options = require "kubelua.options"
local waiting = require "kubelua.waiting"

local controllers = {}

---@class kubelua.sim.Controllers
---@field nodes integer? how many nodes to create if there are none; default: 2
---@field start_seconds number? how long the containers of a pod take to start; default: 0.5
---@field stop_seconds number? how long they take to stop, at most; default: 0.5
---@field job_seconds number? how long a pod runs that is not restarted; default: 2
---@field now (fun(): number)? Unix time, for timestamps
---@field clock (fun(): number)? a clock in seconds, to measure these times

local DEFAULTS = { nodes = 2, start_seconds = 0.5, stop_seconds = 0.5, job_seconds = 2,
    now = os.time, clock = core.now }

local TYPES = { nodes = "number", start_seconds = "number", stop_seconds = "number",
    job_seconds = "number", now = "function", clock = "function" }

local PARTS = { "nodes", "scheduler", "kubelet", "replicaset", "deployment", "job", "endpoints" }

local function stop_all(running)
    for _, controller in ipairs(running) do
        controller:stop()
    end
end

local function start_all(client, life)
    local running = {}
    for _, part in ipairs(PARTS) do
        for _, wanted in ipairs(require("kubelua.sim.controllers." .. part)(life)) do
            wanted.client = client
            local controller, message, code = kubelua.controller(wanted)
            if not controller then
                stop_all(running)
                return nil, message, code
            end
            running[#running + 1] = controller
            if not wanted[1] then -- nothing else starts a controller without a resource
                controller:enqueue("once")
            end
        end
    end
    return running
end

local function have_synced(running)
    for _, controller in ipairs(running) do
        if not controller:has_synced() then
            return false
        end
    end
    return true
end

local PATIENCE = 30 -- seconds

---Starts all controllers with a client, in the script's loop, and waits until there are nodes.
---stop() of the result ends them.
---@param client kubelua.Client
---@param given kubelua.sim.Controllers?
---@return { stop: fun() }?, string?, string?
function controllers.start(client, given)
    if type(client) ~= "userdata" or not client.informer then
        error("controllers: a client expected, such as assert(cluster:connect())", 2)
    end
    local life = {}
    for name, value in pairs(DEFAULTS) do
        life[name] = value
    end
    for name, value in pairs(options.optional("controllers", given, TYPES)) do
        life[name] = value
    end
    -- The time as the API writes it.
    function life.time(digits)
        return kubelua.timestamp(math.floor(life.now()), digits)
    end
    local running, message, code = start_all(client, life)
    if not running then
        return nil, message, code
    end
    if not waiting.wait("controllers", PATIENCE, function()
        return life.has_nodes and have_synced(running)
    end) then
        stop_all(running)
        return nil, "the controllers did not start within " .. PATIENCE .. " s", "timeout"
    end
    return { stop = function() stop_all(running) end }
end

return controllers
