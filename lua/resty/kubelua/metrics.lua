-- kube.metrics: the state of the shared map, and of this worker, as Prometheus text.
local ffi = require "ffi"

local readiness = require "resty.kubelua.readiness"

local metrics = {
    -- Of each map: informers of kube.owner's scripts in this worker, and those of them that have
    -- their first list. Weak tables.
    informers = setmetatable({}, { __mode = "k" }),
    informers_synced = setmetatable({}, { __mode = "k" }),
    handlers = 0, -- handlers of kube.owner's scripts that ran in this worker
    dispatchers = 0, -- dispatchers that were started in this worker
    failures = 0, -- dispatchers that failed
}

-- Name, type, help, and the function that reads the value from the status of a map. `of_worker`:
-- the value is not of a map.
local FAMILIES = {
    { "synced", "gauge", "1 once a complete list of Services was published",
        function(s) return s.synced end },
    { "ready", "gauge", "1 once Services and the tables of kube.init are complete: kube.synced()",
        function(_, map) return readiness.is_ready(map) and 1 or 0 end },
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
    { "full_total", "counter", "States of which something was left out, as it found no room",
        function(s) return s.full end },
    { "kept_endpoints", "gauge", "Endpoints of empty services that are kept for a time",
        function(s) return s.kept end },
    { "left_out", "gauge", "Services and values that are not published: see kube.status()",
        function(s) return s.left_out end },
    { "owner_informers", "gauge", "Informers of kube.owner's scripts in this worker",
        function(_, map) return metrics.informers[map] or 0 end },
    { "owner_informers_synced", "gauge", "Those of them whose first list has come",
        function(_, map) return metrics.informers_synced[map] or 0 end },
    { "owner_handlers_total", "counter", "Handlers that this worker ran for kube.owner",
        function() return metrics.handlers end, of_worker = true },
    { "owner_dispatchers_total", "counter", "Dispatchers that this worker started for kube.owner",
        function() return metrics.dispatchers end, of_worker = true },
    { "owner_failures_total", "counter", "Dispatchers that failed in this worker",
        function() return metrics.failures end, of_worker = true },
}

local ESCAPES = { ["\\"] = "\\\\", ['"'] = '\\"', ["\n"] = "\\n" }

-- The labels of a map in a line: `more`, and its name; the first map of a lua_State has no name.
local function labels_of(map, first, more)
    local labels = more or {}
    if map ~= first then
        labels[#labels + 1] = { "name", map.name }
    end
    for i, label in ipairs(labels) do
        labels[i] = string.format('%s="%s"', label[1], (label[2]:gsub('[\\"\n]', ESCAPES)))
    end
    return labels[1] and "{" .. table.concat(labels, ",") .. "}" or ""
end

local function add_head(lines, name, kind, help)
    lines[#lines + 1] = "# HELP " .. name .. " " .. help
    lines[#lines + 1] = "# TYPE " .. name .. " " .. kind
end

local function add_tables(lines, wanted, first)
    local name = "kubelua_table_complete"
    add_head(lines, name, "gauge", "1 once a table of kube.init is complete")
    for _, map in ipairs(wanted) do
        for _, each in ipairs(map.options.tables or {}) do
            lines[#lines + 1] = string.format("%s%s %d", name,
                labels_of(map, first, { { "table", each } }),
                readiness.is_complete(map, each) and 1 or 0)
        end
    end
end

---The metrics of some maps in Prometheus' text format.
---@param wanted resty.kubelua.Map[]
---@param first resty.kubelua.Map the one whose lines have no label
---@return string
function metrics.text(wanted, first)
    local lines = {}
    for _, family in ipairs(FAMILIES) do
        local name, kind, help, read = "kubelua_" .. family[1], family[2], family[3], family[4]
        add_head(lines, name, kind, help)
        for _, map in ipairs(family.of_worker and { first } or wanted) do
            lines[#lines + 1] = string.format("%s%s %.14g", name, labels_of(map, first),
                tonumber(read(map:status(), map)))
        end
    end
    add_tables(lines, wanted, first)
    lines[#lines + 1] = ""
    return table.concat(lines, "\n")
end

return metrics
