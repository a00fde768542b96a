-- The arrows between folders and files as the linker sees them: which object file uses a function
-- that another defines. spec/lint/lint.lua reads #include only, and a function may be declared in a
-- lower folder's header and defined in a higher one. Usage, in the root of the tree:
-- lua5.4 spec/lint/symbols.lua BUILD; BUILD is a folder with everything built. A line for each
-- breach, and exit status 1 if there are any.
package.path = (arg and arg[0] or ""):gsub("[^/]*$", "") .. "?.lua;" .. package.path
local folders = require "folders"

local build = arg[1] or "build"

-- What is looked at: a folder of the tree, and where its object files are.
local PARTS = {
    { root = "core", objects = "CMakeFiles/kubelua_objects.dir/core" },
    { root = "sim/core", objects = "sim/CMakeFiles/kubelua_sim_objects.dir/core" },
    { root = "lua/src", objects = "CMakeFiles/kubelua_lua54.dir/lua/src" },
}

-- A circle of files, each of which needs all others, is one file in pieces: three at most.
local MOST = 3

local breaches = 0

local function breach(message, ...)
    breaches = breaches + 1
    print(string.format(message, ...))
end

local function lines_of(command)
    local pipe = assert(io.popen(command))
    return function()
        local line = pipe:read("l")
        if not line then
            pipe:close()
        end
        return line
    end
end

-- False for the source of an object file that an earlier build has left.
local there = {}
local function is_there(path)
    if there[path] == nil then
        local file = io.open(path)
        there[path] = file ~= nil and file:close()
    end
    return there[path]
end

-- {symbol = file that defines it}, and {file = set of the symbols that it needs}.
local function read_symbols(part)
    local defined, needed = {}, {}
    local folder = build .. "/" .. part.objects
    for line in lines_of("find " .. folder .. " -name '*.o' | sort | xargs -r nm -A") do
        local path, kind, name = line:match("^(%S+)%.o:%S*%s+(%a) (%S+)$")
        local file = path and part.root .. path:sub(#folder + 1)
        if file and is_there(file) then
            needed[file] = needed[file] or {}
            if kind == "U" then
                needed[file][name] = true
            elseif kind:find("[TDBRV]") then
                defined[name] = file
            end
        end
    end
    if next(needed) == nil then
        breach("%s has no object files: build it first", folder)
    end
    return defined, needed
end

-- {file = array of the files that it needs}; calls `see(file, name, other)` for each symbol.
local function read_arrows(part, see)
    local defined, needed = read_symbols(part)
    local arrows = {}
    for file, names in pairs(needed) do
        local others = {}
        for name in pairs(names) do
            local other = defined[name]
            if other and other ~= file then
                others[other] = true
                see(file, name, other)
            end
        end
        arrows[file] = others
    end
    return arrows
end

-- The files that can be reached from one, itself only through a circle.
local function reachable(arrows, from)
    local seen, left = {}, { from }
    while #left > 0 do
        for other in pairs(arrows[table.remove(left)] or {}) do
            if not seen[other] then
                seen[other] = true
                left[#left + 1] = other
            end
        end
    end
    return seen
end

-- The circles of a graph: sorted arrays of two or more files that reach each other.
local function find_circles(arrows)
    local reach, circles, is_placed = {}, {}, {}
    for file in pairs(arrows) do
        reach[file] = reachable(arrows, file)
    end
    for file in pairs(arrows) do
        local circle = {}
        for other in pairs(reach[file]) do
            if not is_placed[other] and reach[other] and reach[other][file] then
                circle[#circle + 1] = other
            end
        end
        if #circle > 1 then
            table.sort(circle)
            circles[#circles + 1] = circle
            for _, other in ipairs(circle) do
                is_placed[other] = true
            end
        end
    end
    return circles
end

local function check_circles(arrows)
    for _, circle in ipairs(find_circles(arrows)) do
        if #circle > MOST then
            breach("a circle of %d files, where %d may be:\n    %s", #circle, MOST,
                table.concat(circle, "\n    "))
        end
    end
end

local function check_part(part)
    local upward = {}
    local arrows = read_arrows(part, function(file, name, other)
        if folders.is_upward(file, other) then
            upward[#upward + 1] = name .. ": used by " .. file .. ", defined in " .. other
        end
    end)
    if #upward > 0 then
        table.sort(upward)
        breach("%s: %d symbols of a higher folder:\n    %s", part.root, #upward,
            table.concat(upward, "\n    "))
    end
    check_circles(arrows)
end

for _, part in ipairs(PARTS) do
    check_part(part)
end
if breaches > 0 then
    print(breaches .. " breaches of the arrows between files")
    os.exit(1)
end
