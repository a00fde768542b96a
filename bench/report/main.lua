-- Makes the tables and the picture of the results of bench/compare.
-- Usage: main.lua RESULTS.json   prints the tables; a complete run also rewrites the tree's tables
--        main.lua --check        fails if the tree's tables do not match bench/results.json
local here = arg[0]:match("^(.*)/[^/]*$") or "."
package.path = here .. "/?.lua;" .. package.path

local figures = require "figures"
local plot = require "plot"
local tables = require "tables"

local root = here .. "/../../"
local STORED = root .. "bench/results.json"

local function read(path)
    local file = assert(io.open(path))
    local content = file:read("a")
    file:close()
    return content
end

local function write(path, content)
    local file = assert(io.open(path, "w"))
    assert(file:write(content))
    assert(file:close())
end

-- A file's text with `content` between its two marks.
local function between_marks(path, content)
    local first, last = "<!-- bench/run writes this -->\n", "<!-- to here -->"
    local text = read(path)
    local _, from = text:find(first, 1, true)
    local to = from and text:find(last, from, true)
    assert(to, path .. " lacks the marks of bench/run")
    return text:sub(1, from) .. content .. text:sub(to)
end

-- The files of the tree that show these results, by path.
local function generated(results)
    return {
        [root .. "bench/results.svg"] = plot.svg(results),
        [root .. "bench/RESULTS.md"] = between_marks(root .. "bench/RESULTS.md",
            tables.all(results)),
        [root .. "README.md"] = between_marks(root .. "README.md", tables.short(results)),
    }
end

local function check()
    local stale = 0
    for path, content in pairs(generated(figures.read(STORED))) do
        if read(path) ~= content then
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
    write((path:gsub("%.json$", "")) .. ".svg", plot.svg(results))
    if not results.complete then
        io.stderr:write("not a complete run: the tree's tables stay as they are\n")
        return
    end
    local text = read(path)
    write(STORED, text)
    for file, content in pairs(generated(results)) do
        write(file, content)
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
