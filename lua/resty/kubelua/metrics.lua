-- kube.metrics: the state of the shared map, and of this worker, as Prometheus text.
local ffi = require "ffi"

local metrics = {
    handlers = 0, -- handlers of kube.owner's scripts that ran in this worker
    dispatchers = 0, -- dispatchers that were started in this worker
    failures = 0, -- dispatchers that failed
}

-- Name, type, help, and the function that reads the value from the status of a map. `of_worker`:
-- the value is not of a map.
local FAMILIES = {
    { "synced", "gauge", "1 once a complete list was published", function(s) return s.synced end },
    { "age_seconds", "gauge", "Seconds since the API server last sent anything; -1: never",
        function(s)
            local age = tonumber(s.age_ms)
            return age < 0 and -1 or age / 1000
        end },
    { "owner", "gauge", "1 in the worker that watches the API server",
        function(s) return s.owner_pid == ffi.C.getpid() and 1 or 0 end },
    { "owner_pid", "gauge", "The process that watches the API server; 0: none",
        function(s) return s.owner_pid end },
    { "takeovers_total", "counter", "Workers that became the owner",
        function(s) return s.takeovers end },
    { "generation", "counter", "States that were published", function(s) return s.generation end },
    { "epoch", "counter", "Starts and reloads that opened the map",
        function(s) return s.epoch end },
    { "entries", "gauge", "Entries of the map", function(s) return s.entries end },
    { "used_bytes", "gauge", "Bytes of the last published state", function(s) return s.used end },
    { "room_bytes", "gauge", "Bytes that a state can have", function(s) return s.room end },
    { "full_total", "counter", "States that found no room and were not published",
        function(s) return s.full end },
    { "owner_handlers_total", "counter", "Handlers that this worker ran for kube.owner",
        function() return metrics.handlers end, of_worker = true },
    { "owner_dispatchers_total", "counter", "Dispatchers that this worker started for kube.owner",
        function() return metrics.dispatchers end, of_worker = true },
    { "owner_failures_total", "counter", "Dispatchers that failed in this worker",
        function() return metrics.failures end, of_worker = true },
}

-- The label of a map in a line; the first one of a lua_State has none.
local function label_of(map, first)
    return map == first and "" or string.format('{name="%s"}', (map.name:gsub('[\\"\n]',
        { ["\\"] = "\\\\", ['"'] = '\\"', ["\n"] = "\\n" })))
end

---The metrics of some maps in Prometheus' text format.
---@param wanted resty.kubelua.Map[]
---@param first resty.kubelua.Map the one whose lines have no label
---@return string
function metrics.text(wanted, first)
    local lines = {}
    for _, family in ipairs(FAMILIES) do
        local name, kind, help, read = "kubelua_" .. family[1], family[2], family[3], family[4]
        lines[#lines + 1] = "# HELP " .. name .. " " .. help
        lines[#lines + 1] = "# TYPE " .. name .. " " .. kind
        for _, map in ipairs(family.of_worker and { first } or wanted) do
            lines[#lines + 1] = string.format("%s%s %.14g", name, label_of(map, first),
                tonumber(read(map:status())))
        end
    end
    lines[#lines + 1] = ""
    return table.concat(lines, "\n")
end

return metrics
