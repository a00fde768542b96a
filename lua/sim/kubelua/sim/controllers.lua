-- Life for a simulated cluster: nodes, a scheduler, a kubelet, and the controllers of Deployments,
-- ReplicaSets, Jobs and EndpointSlices. Each is a script of its own in controllers/, made of
-- KubeLua's public interface.
local core = require "kubelua.core"
local options = require "kubelua.options"
local World = require "kubelua.sim.controllers.world"

local controllers = {}

---@class kubelua.sim.Controllers
---@field nodes integer? how many there are, unless there are some already; 2
---@field start_seconds number? how long a pod's containers take to start; 0.5
---@field stop_seconds number? and to stop, at most; 0.5
---@field job_seconds number? how long a pod that is not restarted runs; 2
---@field now (fun(): number)? Unix time, for timestamps
---@field clock (fun(): number)? the seconds that steps are measured with
local DEFAULTS = { nodes = 2, start_seconds = 0.5, stop_seconds = 0.5, job_seconds = 2,
    now = os.time, clock = core.now }

local TYPES = { nodes = "number", start_seconds = "number", stop_seconds = "number",
    job_seconds = "number", now = "function", clock = "function" }

local PARTS = { "nodes", "scheduler", "kubelet", "replicaset", "deployment", "job", "endpoints" }

---Starts them all over a client, in the script's loop; what they return ends them.
---@param client kubelua.Client
---@param given kubelua.sim.Controllers?
---@return { stop: fun() }?, string?, string?
function controllers.start(client, given)
    if type(client) ~= "userdata" or not client.informer then
        error("controllers: a client expected, such as assert(cluster:connect())", 2)
    end
    local merged = {}
    for name, value in pairs(DEFAULTS) do
        merged[name] = value
    end
    for name, value in pairs(options.optional("controllers", given, TYPES)) do
        merged[name] = value
    end
    local world, message, code = World.new(client, merged)
    if not world then
        return nil, message, code
    end
    for name in pairs(World.CACHES) do
        local ok
        ok, message, code = world[name]:wait_synced(30)
        if not ok then
            world:stop()
            return nil, message, code
        end
    end
    local tickers = {}
    for _, part in ipairs(PARTS) do
        tickers[#tickers + 1] = require("kubelua.sim.controllers." .. part)(world)
    end
    return {
        stop = function()
            for _, ticker in ipairs(tickers) do
                ticker.stop()
            end
            world:stop()
        end,
    }
end

return controllers
