-- Makes the tables and the picture of the results of bench/compare.
-- Usage: main.lua RESULTS.json   prints the tables; a complete run also rewrites the tree's tables
--        main.lua --check        fails if the tree's tables do not match bench/results.json
local here = arg[0]:match("^(.*)/[^/]*$") or "."
package.path = here .. "/?.lua;" .. package.path

local figures = require "figures"
local marks = require "marks"
local plot = require "plot"
local tables = require "tables"

local root = here .. "/../../"
local STORED = root .. "bench/results.json"

local FIRST, LAST = "<!-- bench/run writes this -->\n", "<!-- to here -->"

-- The files of the tree that show these results, by path.
local function generated(results)
    return {
        [root .. "bench/results.svg"] = plot.svg(results),
        [root .. "bench/RESULTS.md"] = marks.between(root .. "bench/RESULTS.md", FIRST,
            LAST, tables.all(results)),
        [root .. "README.md"] = marks.between(root .. "README.md", FIRST, LAST,
            tables.short(results)),
    }
end

local function check()
    local stale = 0
    for path, content in pairs(generated(figures.read(STORED))) do
        if marks.read(path) ~= content then
            io.stderr:write(path:sub(#root + 1), " is not what bench/results.json gives; run: ",
                "lua5.4 bench/report/main.lua bench/results.json\n")
            stale = stale + 1
        end
    end
    return stale == 0
end

local function report(path)
    local results = figures.read(path)
    print(tables.all(results))
    marks.write((path:gsub("%.json$", "")) .. ".svg", plot.svg(results))
    if not results.complete then
        io.stderr:write("not a complete run: the tree's tables stay as they are\n")
        return
    end
    local text = marks.read(path)
    marks.write(STORED, text)
    for file, content in pairs(generated(results)) do
        marks.write(file, content)
        io.stderr:write("wrote ", file:sub(#root + 1), "\n")
    end
end

if #arg ~= 1 then
    io.stderr:write("usage: main.lua RESULTS.json | --check\n")
    os.exit(2)
elseif arg[1] == "--check" then
    os.exit(check())
else
    report(arg[1])
end
