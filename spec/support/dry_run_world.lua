-- A dry run in this process, in a simulated cluster.
local assert = require("busted").assert
local dry_run = require "kubelua.cli.dry_run"
local Sim = require "kubelua.sim"

local world = {}

local cluster, client, trial

---@param objects string[] manifests of what is there
---@return kubelua.Sim
---@return kubelua.Client
---@return kubelua.DryRun
---@return string[] shown the diffs and the lines about Events
---@return string[] stderr the lines about what is not sent
function world.begin(objects)
    cluster = assert(Sim.new())
    client = assert(cluster:connect())
    for _, text in ipairs(objects) do
        assert(cluster:create(text))
    end
    local shown, stderr = {}, {}
    trial = dry_run.begin(function(text) shown[#shown + 1] = text end,
        function(text) stderr[#stderr + 1] = text end)
    return cluster, client, trial, shown, stderr
end

function world.finish()
    trial.undo()
    client:close()
    cluster:close()
end

return world
