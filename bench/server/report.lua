-- The figures of bench/server as a table, and where they are kept.
local json = require "cjson"
local machine = require "machine"

local report = {}

local FIRST, LAST = "<!-- bench/server/run writes this -->\n", "<!-- to here, too -->"

local function group(title, rows)
    return { title = title, rows = rows }
end

-- The rows: title, figure, format, factor, and which of two values is better. "ours": the real
-- server's value means nothing, because Go's heap has room for watchers before it grows.
local GROUPS = {
    group("Start to the first answer", {
        { "of a process", "start", "%.1f ms", 1e3, "less" },
        { "in the process of the script", "first", "%.2f ms", 1e3 },
    }),
    group("Writes a second by one client", {
        { "creates, one after the other", "create", "%.0f", 1, "more" },
        { "updates", "update", "%.0f", 1, "more" },
        { "deletes", "delete", "%.0f", 1, "more" },
        { "creates, FLIGHT in flight", "create_flight", "%.0f", 1, "more" },
        { "updates", "update_flight", "%.0f", 1, "more" },
        { "deletes", "delete_flight", "%.0f", 1, "more" },
        { "creates, one after the other, client and server kept on one core", "create_core",
            "%.0f", 1 },
        { "updates", "update_core", "%.0f", 1 },
        { "deletes", "delete_core", "%.0f", 1 },
        { "creates, in the process of the script, one after the other", "create_inside", "%.0f",
            1 },
        { "updates", "update_inside", "%.0f", 1 },
        { "deletes", "delete_inside", "%.0f", 1 },
        { "server's CPU for a write", "write_cpu_core", "%.1f us", 1e6 },
        { "the same with FLIGHT in flight", "write_cpu_flight", "%.1f us", 1e6, "less" },
        { "round trips a second of this machine that do nothing, between two idle cores",
            "echo_apart", "%.0f", -1 },
        { "the same on one core", "echo_together", "%.0f", -1 },
    }),
    group("A list", {
        { "MB a second", "list_rate", "%.0f", 1, "more" },
        { "objects in it", "listed", "%.0f", 1 },
        { "bytes of one", "pod_bytes", "%.0f", 1 },
        { "loading them", "loaded", "%.1f s", 1 },
        { "resident for each", "resident", "%.1f KB", 1 / 1024 },
    }),
    group("Watchers of one resource", {
        { "watchers", "watchers", "%.0f", 1 },
        { "updates that each receives", "updates", "%.0f", 1 },
        { "all of that", "watch_seconds", "%.2f s", 1 },
        { "events a second", "watch_rate", "%.0f", 1, "more" },
        { "server's CPU for an event to a watcher", "watch_cpu", "%.2f us", 1e6, "less" },
        { "server's CPU to open one", "watch_open_cpu", "%.0f us", 1e6, "less" },
        { "resident for each, idle", "watch_idle", "%.0f KB", 1 / 1024, "ours" },
        { "resident for each, afterwards", "watch_busy", "%.0f KB", 1 / 1024, "ours" },
    }),
}

-- A factor below 0: so many times a second.
local function shown(figures, row)
    local value = figures and figures[row[2]]
    if not value then
        return ""
    end
    return row[3]:format(row[4] < 0 and 1 / value or value * row[4])
end

local function ratio(results, row)
    local ours, theirs = results.simulated[row[2]], results.real and results.real[row[2]]
    if not (row[5] and ours and theirs) or row[5] == "ours" then
        return ""
    end
    return ("%.1f x"):format(row[5] == "more" and ours / theirs or theirs / ours)
end

-- Creates, updates and deletes together.
local function writes(suffix)
    return function(figures)
        return 3 / (1 / figures["create" .. suffix] + 1 / figures["update" .. suffix]
            + 1 / figures["delete" .. suffix])
    end
end

local function figure(name, factor)
    return function(figures)
        return figures[name] * factor
    end
end

-- The bounds of the simulated server: figure, format, least or most, and the reached value.
local ASKED = {
    { "start of a process to the first answer", "%.1f ms", "below", 10, figure("start", 1e3) },
    { "pods loaded", "%.0f", "at least", 100000, figure("listed", 1) },
    { "a list of them, MB a second", "%.0f", "at least", 500, figure("list_rate", 1) },
    { "writes a second by one client, FLIGHT in flight", "%.0f", "at least", 20000,
        writes("_flight") },
    { "the same in the process of the script", "%.0f", "at least", 20000, writes("_inside") },
    { "the same one after the other, client and server on one core", "%.0f", "at least", 20000,
        writes("_core") },
    { "the same wherever the kernel puts them", "%.0f", "at least", 20000, writes("") },
    { "watchers of one resource", "%.0f", "at least", 1000, figure("watchers", 1) },
    { "updates that each of them receives", "%.0f", "at least", 1000, figure("updates", 1) },
}

local function add_asked(lines, results)
    lines[#lines + 1] = ""
    lines[#lines + 1] = "| asked of the simulated one | | reached | passed |"
    lines[#lines + 1] = "|---|---|---|---|"
    for _, row in ipairs(ASKED) do
        local reached = row[5](results.simulated)
        local passed = row[3] == "below" and reached < row[4]
            or row[3] == "at least" and reached >= row[4]
        local name = row[1]:gsub("FLIGHT", ("%d"):format(results.in_flight))
        lines[#lines + 1] = ("| %s | %s %d | %s | %s |"):format(name, row[3], row[4],
            row[2]:format(reached), passed and "yes" or "no")
    end
end

---The table, in Markdown.
---@param results table
---@return string
function report.table(results)
    local lines = {
        ("%s, %s. Plain HTTP and memory against TLS and etcd."):format(results.date,
            results.machine), "",
        ("%d rounds in turns, in %.1f minutes: medians. Load average before: %.2f; the hypervisor "
            .. "kept %.0f %% of the CPU time."):format(results.rounds, results.seconds / 60,
            results.load, results.stolen * 100), "",
        "| | simulated | kube-apiserver | ratio |", "|---|---|---|---|",
    }
    for _, of in ipairs(GROUPS) do
        lines[#lines + 1] = "| **" .. of.title .. "** | | | |"
        for _, row in ipairs(of.rows) do
            local theirs = row[5] ~= "ours" and shown(results.real, row) or ""
            local name = row[1]:gsub("FLIGHT", ("%d"):format(results.in_flight))
            lines[#lines + 1] = ("| %s | %s | %s | %s |"):format(name,
                shown(results.simulated, row), theirs, ratio(results, row))
        end
    end
    if not results.is_quick then
        add_asked(lines, results)
    end
    return table.concat(lines, "\n") .. "\n"
end

local function write(path, text)
    local file = assert(io.open(path, "w"))
    assert(file:write(text))
    assert(file:close())
end

-- The text around the table, and the marks between which the table is.
local function take_apart(root)
    local text = assert(machine.read(root .. "/bench/RESULTS.md"))
    local _, from = text:find(FIRST, 1, true)
    local to = text:find(LAST, 1, true)
    return text:sub(1, from), text:sub(from + 1, to - 1), text:sub(to)
end

---Keeps the results in the tree, and the table made of them.
function report.store(root, results)
    local before, _, after = take_apart(root)
    write(root .. "/bench/RESULTS.md", before .. report.table(results) .. after)
    write(root .. "/bench/server/results.json", json.encode(results) .. "\n")
end

---True if the table in bench/RESULTS.md shows the figures of bench/server/results.json.
---@return boolean
function report.check(root)
    local _, there = take_apart(root)
    local results = json.decode(assert(machine.read(root .. "/bench/server/results.json")))
    if there == report.table(results) then
        return true
    end
    io.stderr:write("bench/RESULTS.md: the table of the simulated API server is not that of "
        .. "bench/server/results.json\n")
    return false
end

return report
