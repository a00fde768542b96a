-- Tells a simulated cluster in this process which run of a controller sends a request, for
-- cluster:requests. The request has a number in a header, which no other server gets; this file
-- keeps what the number means.
local core = require "kubelua.core"

-- This many runs are remembered; the cluster remembers 1,000 requests.
local MOST = 2000

local run_tag = {
    HEADER = "Kubelua-Run",
}

---Identifies a run of a controller.
---@class kubelua.RunTag
---@field controller string
---@field key string
---@field attempt integer

---The value of the header for a request of a client; nil: the request has no header.
---@param client kubelua.Client
---@param scope kubelua.Scope?
---@return string?
function run_tag.value(client, scope)
    local run = scope and scope.run
    local cluster = run and core.state(client, "kubelua.client").sim
    if not cluster then
        return nil
    end
    local state = package.loaded["kubelua.simcore"].state(cluster)
    local runs = state.runs or { count = 0, by_number = {} }
    state.runs = runs
    scope.run_numbers = scope.run_numbers or setmetatable({}, { __mode = "k" })
    local number = scope.run_numbers[cluster]
    if not number then
        number = runs.count + 1
        runs.count, runs.by_number[number] = number, run
        runs.by_number[number - MOST] = nil
        scope.run_numbers[cluster] = number
    end
    return tostring(number)
end

return run_tag
