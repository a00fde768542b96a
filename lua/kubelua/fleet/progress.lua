-- What fleets have left to do, for the command: --once and --dry-run end when nothing is left, and
-- --reload ends the fleets of a script.
local progress = {}

local function each_fleet()
    local fleets = package.loaded["kubelua.fleet"] -- if a script has called kubelua.fleet
    local list = {}
    for state in pairs(fleets and fleets.started or {}) do
        list[#list + 1] = state
    end
    return ipairs(list)
end

local function tell_cluster(cluster)
    if cluster.state == nil or cluster.state == "ending" then
        return "it is not begun"
    elseif cluster.state == "starting" then
        return "its function has not returned"
    end
end

local function tell_fleet(state)
    if state.is_over then
        return nil
    elseif not state.has_read then
        return "its source was not read" .. (state.problem and ": " .. state.problem or "")
    elseif state.ring and not state.ring:has_share() then
        return "it waits for its share of the ring " .. state.ring.options.name
    end
    for name, cluster in pairs(state.clusters) do
        local left = tell_cluster(cluster)
        if left then
            return "cluster " .. name .. ": " .. left
        end
    end
end

---Says what is left to do before time passes; nil: nothing.
---@return string?
function progress.left()
    for _, state in each_fleet() do
        local left = tell_fleet(state)
        if left then
            return state.what .. ": " .. left
        end
    end
end

---A cluster that is refused, or that fails; nil: there is none.
---@return string?
function progress.failure()
    local first
    for _, state in each_fleet() do
        for _, cluster in ipairs(state:status().clusters) do
            local has_failed = cluster.state == "failed" or cluster.state == "refused"
            if has_failed and not first then
                first = ("%s: cluster %s: %s"):format(state.what, cluster.name, cluster.problem)
            end
        end
    end
    return first
end

---The rings of fleets that go on.
---@return kubelua.fleet.Ring[]
function progress.rings()
    local list = {}
    for _, state in each_fleet() do
        if state.ring and not state.is_over then
            list[#list + 1] = state.ring
        end
    end
    return list
end

---The fleets of a script.
---@param script kubelua.Script
---@return kubelua.fleet.State[]
function progress.of_script(script)
    local list = {}
    for _, state in each_fleet() do
        if state.script == script and not state.is_over then
            list[#list + 1] = state
        end
    end
    return list
end

return progress
