-- The figures of bench/server as a table, and where they are kept.
local json = require "cjson"

local report = {}

local FIRST, LAST = "<!-- bench/server/run writes this -->\n", "<!-- to here, too -->"

local ROWS = {
    { "start to the first answer, a process", "start", "%.1f ms", 1e3, "less" },
    { "start to the first answer, in a process", "first", "%.1f ms", 1e3 },
    { "creates a second, one client", "create", "%.0f", 1, "more" },
    { "updates a second, one client", "update", "%.0f", 1, "more" },
    { "deletes a second, one client", "delete", "%.0f", 1, "more" },
    { "a list, MB a second", "list", "%.0f", 1, "more" },
    { "objects in that list", "listed", "%.0f", 1 },
    { "events to watchers a second", "watch", "%.0f", 1, "more" },
    { "server's CPU for one event to one watcher", "watch_cpu", "%.2f us", 1, "less" },
    { "watchers", "watchers", "%.0f", 1 },
    { "updates that each of them saw", "updates", "%.0f", 1 },
    { "loading these objects", "loaded", "%.1f s", 1 },
    { "an object in the list", "pod_bytes", "%.0f bytes", 1 },
    { "resident for each of them", "resident", "%.0f bytes", 1 },
}

local function shown(figures, row)
    local value = figures and figures[row[2]]
    return value and row[3]:format(value * row[4]) or ""
end

local function ratio(results, row)
    local ours, theirs = results.simulated[row[2]], results.real and results.real[row[2]]
    if not (row[5] and ours and theirs) then
        return ""
    end
    return ("%.1f x"):format(row[5] == "more" and ours / theirs or theirs / ours)
end

---The table, in Markdown.
function report.table(results)
    local lines = {
        ("%s, %s; plain HTTP and memory against TLS and etcd."):format(results.date,
            results.machine),
        "", "| | simulated | kube-apiserver | ratio |", "|---|---|---|---|",
    }
    for _, row in ipairs(ROWS) do
        lines[#lines + 1] = ("| %s | %s | %s | %s |"):format(row[1], shown(results.simulated, row),
            shown(results.real, row), ratio(results, row))
    end
    return table.concat(lines, "\n") .. "\n"
end

local function read(path)
    local file = assert(io.open(path))
    local text = file:read("a")
    file:close()
    return text
end

local function write(path, text)
    local file = assert(io.open(path, "w"))
    assert(file:write(text))
    assert(file:close())
end

---Keeps the results in the tree, and the table made of them.
function report.store(root, results)
    local path = root .. "/bench/RESULTS.md"
    local text = read(path)
    local _, from = text:find(FIRST, 1, true)
    local to = text:find(LAST, 1, true)
    write(path, text:sub(1, from) .. report.table(results) .. text:sub(to))
    write(root .. "/bench/server/results.json", json.encode(results) .. "\n")
end

return report
