-- kube.metrics: the state of the shared map, and of this worker, as Prometheus text.
local ffi = require "ffi"
local map = require "resty.kubelua.map"

local metrics = {
    handlers = 0, -- handlers of kube.owner's scripts that ran in this worker
    dispatchers = 0, -- dispatchers that were started in this worker
    failures = 0, -- dispatchers that failed
}

-- Name, type, help, and the function that reads the value.
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
        function() return metrics.handlers end },
    { "owner_dispatchers_total", "counter", "Dispatchers that this worker started for kube.owner",
        function() return metrics.dispatchers end },
    { "owner_failures_total", "counter", "Dispatchers that failed in this worker",
        function() return metrics.failures end },
}

---The metrics in Prometheus' text format.
---@return string
function metrics.text()
    local status, lines = map.status(), {}
    for _, family in ipairs(FAMILIES) do
        local name, kind, help, read = "kubelua_" .. family[1], family[2], family[3], family[4]
        lines[#lines + 1] = "# HELP " .. name .. " " .. help
        lines[#lines + 1] = "# TYPE " .. name .. " " .. kind
        lines[#lines + 1] = string.format("%s %.14g", name, tonumber(read(status)))
    end
    lines[#lines + 1] = ""
    return table.concat(lines, "\n")
end

return metrics
