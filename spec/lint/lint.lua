-- The house rules that no compiler knows: the arrows between layers (docs/DESIGN.md#layers), the
-- size limits and the documented prototypes of docs/STYLE.md. Usage, in the root of the tree:
-- lua5.4 spec/lint/lint.lua; a line for each breach, and exit status 1 if there are any.
package.path = (arg and arg[0] or ""):gsub("[^/]*$", "") .. "?.lua;" .. package.path
local folders = require "folders"

local RANKS = folders.RANKS

-- The layers of the core, and the folders beside it, that alone may include a header.
local OWNERS = {
    ["curl/curl.h"] = { ["core/http"] = true, bench = true },
    ["zstd.h"] = { ["core/object"] = true },
    ["zlib.h"] = { ["core/http"] = true, ["sim/core/body"] = true },
    ["yyjson.h"] = { ["core/json"] = true, ["sim/core/json"] = true },
    ["yaml.h"] = { ["core/config"] = true, ["sim/core/body"] = true },
    ["pcre2.h"] = { ["sim/core/schema"] = true },
    ["microhttpd.h"] = { ["sim/core/http"] = true, ["sim/core/request"] = true,
        lua = true }, -- lua/serve
}

local LIMITS = {
    c = { lines = 700, columns = 80 },
    h = { lines = 400, columns = 80 },
    lua = { lines = 400, columns = 100 },
}
local FUNCTION_LINES, NESTING, PARAMETERS = 60, 4, 5

local breaches = 0

local function breach(file, line, message, ...)
    breaches = breaches + 1
    print(string.format("%s:%d: " .. message, file, line, ...))
end

local function read_lines(path)
    local lines = {}
    for line in io.lines(path) do
        lines[#lines + 1] = line
    end
    return lines
end

local function tracked_files()
    local files = {}
    local pipe = assert(io.popen("git ls-files --cached --others --exclude-standard"))
    for path in pipe:lines() do
        files[#files + 1] = path
    end
    pipe:close()
    return files
end

local function check_size(path, lines, limit)
    -- A table that a script prints is as long as what it was read from; one of mutations, as what
    -- they break.
    local is_table = path:match("_table%.c$") or path:match("/mutations%.lua$")
    if #lines > limit.lines and not is_table then
        breach(path, #lines, "%d lines; the limit is %d: split it by concept", #lines, limit.lines)
    end
    for i, line in ipairs(lines) do
        local columns = utf8.len(line) or #line
        -- The type of a function is one line.
        if columns > limit.columns and not line:find("^%-%-%-@alias [%w.]+ fun%(") then
            breach(path, i, "%d columns; the limit is %d", columns, limit.columns)
        end
    end
end

-- core/json/doc.c is in core/json, sim/core/sim.c in sim, lua/src/view.c in lua.
local function place_of(path)
    return path:match("^core/%w+") or path:match("^(sim/core/%w+)/") or path:match("^%w+")
end

local function check_core_arrow(path, line_number, layer, included)
    local target = included:match("^(%w+)/")
    if target == "sim" or included == "kubelua/sim.h" then
        breach(path, line_number, "the core must not include the simulator")
    elseif RANKS[target] and target ~= layer and RANKS[target] >= RANKS[layer] then
        breach(path, line_number, "core/%s (rank %d) must not include core/%s (rank %d)", layer,
            RANKS[layer], target, RANKS[target])
    end
end

local function check_sim_arrow(path, line_number, included)
    if not included:match("^sim/core/") then
        return
    end
    local rank, stranger = folders.sim_rank(path)
    if stranger then
        breach(path, line_number, "sim/core/%s is not in spec/lint/folders.lua", stranger)
    elseif folders.sim_rank(included) > rank then
        breach(path, line_number, "%s is above this folder", included)
    end
end

local function check_arrow(path, line_number, included)
    local layer = path:match("^core/(%w+)/")
    if layer and layer ~= "include" then
        check_core_arrow(path, line_number, layer, included)
    elseif path:match("^sim/core/") and not path:match("^sim/core/include/") then
        check_sim_arrow(path, line_number, included)
    elseif included:match("^sim/") or RANKS[included:match("^(%w+)/")] then
        breach(path, line_number, "only public headers may be included here, not %s", included)
    end
end

-- Specs and bench/cache see everything; layers what is below them; all else the public headers.
local function check_arrows(path, lines)
    if path:match("^spec/") or path:match("^sim/spec/") or path:match("^bench/cache/") then
        return
    end
    for i, line in ipairs(lines) do
        local included = line:match('^#include "([^"]+)"')
        if included then
            check_arrow(path, i, included)
        end
        local header, place = line:match("^#include <([^>]+)>"), place_of(path)
        if OWNERS[header] and not OWNERS[header][place] then
            breach(path, i, "<%s> does not belong in %s", header, place)
        end
    end
end

-- Without strings, characters and comments, so that braces and commas count.
local function bare(line)
    return (line:gsub("\\.", ""):gsub('"[^"]*"', '""'):gsub("'[^']*'", "''")
        :gsub("/%*.-%*/", ""):gsub("//.*", ""))
end

-- How many parameters, but for the two that every blocking, fallible call carries.
local function count_parameters(signature)
    local list = signature:match("%b()")
    if not list or list:match("^%(%s*void%s*%)$") then
        return 0
    end
    local inner = list:sub(2, -2):gsub("%b()", "")
    if inner:match("struct MHD_Connection %*") or inner:match("^gnutls_session_t ") then
        return 0 -- libmicrohttpd or GnuTLS calls it, and decides
    end
    local _, commas = inner:gsub(",", "")
    local _, cancels = inner:gsub("kl__cancel %*", "")
    local _, errors = inner:gsub("kl_error %*", "")
    return commas + 1 - cancels - errors
end

local function signature_above(lines, brace)
    local first = brace - 1
    while first > 1 and lines[first - 1]:match("%S") and not lines[first - 1]:match("%*/%s*$")
        and not lines[first - 1]:match("^[#}]") do
        first = first - 1
    end
    return table.concat(lines, " ", first, brace - 1)
end

local function check_function(path, lines, first, last)
    local depth, deepest = 0, 0
    for i = first + 1, last - 1 do
        for brace in bare(lines[i]):gmatch("[{}]") do
            depth = depth + (brace == "{" and 1 or -1)
            deepest = math.max(deepest, depth)
        end
    end
    if last - first - 1 > FUNCTION_LINES then
        breach(path, first, "a function of %d lines; the limit is %d", last - first - 1,
            FUNCTION_LINES)
    end
    if deepest > NESTING then
        breach(path, first, "nested %d deep; the limit is %d", deepest, NESTING)
    end
    local parameters = count_parameters(signature_above(lines, first))
    if parameters > PARAMETERS then
        breach(path, first, "%d parameters; the limit is %d: use a struct", parameters, PARAMETERS)
    end
end

-- A function of ours begins with a brace in the first column and ends with one.
local function check_functions(path, lines)
    local first
    for i, line in ipairs(lines) do
        if line == "{" then
            first = i
        elseif first and line == "}" then
            check_function(path, lines, first, i)
            first = nil
        end
    end
end

-- A public prototype has a comment right above it, or above the run of prototypes it is in.
local function check_documented(path, lines)
    for i, line in ipairs(lines) do
        if line:match("^KL_API") then
            local above = i - 1
            while above > 0 and lines[above]:match("%S") and not lines[above]:match("%*/%s*$") do
                above = above - 1
            end
            if above == 0 or not lines[above]:match("%*/%s*$") then
                breach(path, i, "a public prototype without a comment: %s", line)
            end
        end
    end
end

local function check_head(path, lines)
    local first = lines[1] or ""
    if not first:match("^/%*") and not first:match("^%-%-") and not first:match("^#!") then
        breach(path, 1, "no head: three lines on what it is for and where it stands")
    end
end

local function check_file(path, extension, limit)
    local lines = read_lines(path)
    check_size(path, lines, limit)
    check_head(path, lines)
    if extension ~= "lua" then
        check_arrows(path, lines)
        check_functions(path, lines)
    end
    if path:match("^core/include/") or path:match("^sim/core/include/") then
        check_documented(path, lines)
    end
end

for _, path in ipairs(tracked_files()) do
    local extension = path:match("%.h%.in$") and "h" or path:match("%.(%w+)$")
    local limit = LIMITS[extension]
    local file = limit and io.open(path)
    if file then
        file:close()
        check_file(path, extension, limit)
    end
end

if breaches > 0 then
    print(breaches .. " breaches of the house rules")
    os.exit(1)
end
print("The house rules hold.")
