-- Makes Markdown of the measurements of controllers (bench/controllers). Usage: controllers.lua
-- RESULTS.json [FILE]: prints a table. After a complete run the table also replaces the one in FILE
-- (bench/RESULTS.md), between two marks.
local here = arg[0]:match("^(.*)/[^/]*$") or "."
package.path = here .. "/?.lua;" .. package.path
local cjson = require "cjson"
local figures = require "figures"
local marks = require "marks"

local BASE = "controller-runtime"
local FIRST, LAST = "<!-- bench/controllers writes this -->\n", "<!-- controllers end here -->"
local MB = 1024 * 1024

-- "0.33" of the base; a range where rounds differ too much.
local function relative(results, contender, name)
    return figures.write_range(figures.ratio(results, contender, name))
end

local COLUMNS = {
    { "CPU", "cpu", "s" }, { "relative", "cpu" },
    { "peak", "peak", "MB", MB }, { "relative", "peak" },
    { "at rest", "rest", "MB", MB },
    { "wall", "wall", "s" }, { "relative", "wall" },
    { "reconciles each", "reconciles", "" },
    { "CPU of the server", "server_cpu", "s" },
    { "CPU a change", "change_cpu", "ms", 0.001 },
    { "change to reconcile: p50", "p50", "ms" }, { "p99", "p99", "ms" },
    { "p99, relative", "p99" },
}

local function rows(results)
    local head, line, all = { "" }, { "---" }, {}
    for _, column in ipairs(COLUMNS) do
        head[#head + 1], line[#line + 1] = column[1], "---"
    end
    for _, contender in ipairs(results.contenders) do
        local row = { contender.name }
        for _, column in ipairs(COLUMNS) do
            row[#row + 1] = contender.absent and "-" or column[3]
                and figures.write(contender, column[2], column[3] ~= "" and column[3], column[4])
                or not column[3] and relative(results, contender, column[2])
        end
        all[#all + 1] = "| " .. table.concat(row, " | ") .. " |"
    end
    return ("| %s |\n|%s|\n%s\n"):format(table.concat(head, " | "), table.concat(line, "|"),
        table.concat(all, "\n"))
end

local function preface(results)
    local machine, with = results.machine, results.settings
    return ([[
%s, commit %s, %d rounds in %.1f minutes, against %s. %s, %d cores, %.0f GB, Linux %s.

controller-runtime %s, Go %s, Lua %s, LuaJIT %s. Load average before: %.2f; meanwhile others had
%.0f %% of the machine's CPU time, the hypervisor kept %.0f %%.

%d Widgets of %d bytes, a ConfigMap applied for each, %d at once; then %d changes, one every %d ms.
]]):format(results.date, results.commit, with.rounds, results.minutes, with.server, machine.cpu,
        machine.cores, machine.memory_gb, machine.kernel, results.versions["controller-runtime"],
        results.versions.Go, results.versions.Lua, results.versions.LuaJIT, machine.load_before,
        machine.others * 100, machine.stolen * 100, with.widgets, with.bytes, with.workers,
        with.changes.count, with.changes.pause_ms)
end

local function failures(results)
    local lines = {}
    for _, contender in ipairs(results.contenders) do
        if contender.absent then
            lines[#lines + 1] = "\n" .. contender.name .. ": " .. contender.absent .. "\n"
        end
    end
    return table.concat(lines)
end

local results = cjson.decode(marks.read(arg[1]))
results.by_name = { [figures.BASE] = nil }
for _, contender in ipairs(results.contenders) do
    results.by_name[contender.name] = contender
    if contender.name == BASE and not contender.absent then
        results.by_name[figures.BASE] = contender -- what ratios are made of
    end
end
local text = preface(results) .. "\n" .. rows(results) .. failures(results)
print(text)
if results.complete and arg[2] then
    marks.write(arg[2], marks.between(arg[2], FIRST, LAST, text))
    io.stderr:write("wrote ", arg[2], "\n")
end
