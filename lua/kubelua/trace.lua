-- Calls functions of the script. An error of any type becomes text, with the part of the traceback
-- that concerns the script, without KubeLua's own calls.
local core = require "kubelua.core"
local scopes = require "kubelua.scope"

local trace = {
    -- A call that waits raises this in a cancelled task. It ends the task, and is not logged.
    CANCELED = setmetatable({}, { __tostring = function() return "the task was cancelled" end }),
}

local protected = xpcall -- xpcall itself: on the stack it marks where KubeLua calls the script

-- Lua shows a tail call in a line of its own; LuaJIT does not know of tail calls.
local WHAT = pcall(debug.getinfo, 1, "ft") and "ft" or "f"
local TAIL_CALLS = "\t(...tail calls...)"

-- How many levels at each end of the stack are searched for the call of the script.
local NEAR_TOP, NEAR_END = 100, 12

-- A table without a JSON form: its fields as text.
local function list_fields(problem)
    local fields = {}
    for key, value in pairs(problem) do
        fields[#fields + 1] = tostring(key) .. " = " .. tostring(value)
    end
    table.sort(fields)
    return "{ " .. table.concat(fields, ", ") .. " }"
end

local function describe_table(problem)
    local meta = getmetatable(problem)
    if type(meta) == "table" and meta.__tostring then
        return tostring(problem)
    end
    local ok, json = pcall(core.encode, problem)
    return ok and json or list_fields(problem)
end

local function describe(problem)
    local ok, text = pcall(type(problem) == "table" and describe_table or tostring, problem)
    return ok and text or "an error that is a " .. type(problem) .. " without a text"
end

-- How many levels the stack has without trace.handler and this function: level 1 is what has called
-- trace.handler. By bisection: looking at a level takes time in proportion to its depth, and an
-- endless recursion has a million levels.
local function count_levels()
    local low, high = 2, 4
    while debug.getinfo(high, "f") do
        low, high = high, high * 2
    end
    while high - low > 1 do
        local middle = math.floor((low + high) / 2)
        if debug.getinfo(middle, "f") then
            low = middle
        else
            high = middle
        end
    end
    return low - 2
end

-- The level at which KubeLua calls the script: that of the innermost xpcall, because protected
-- calls of the script itself have ended. Of many levels, only both ends are searched.
local function find_call(levels)
    for level = 1, math.min(levels, NEAR_TOP) do
        if debug.getinfo(level + 2, "f").func == protected then
            return level
        end
    end
    for level = math.max(levels - NEAR_END, NEAR_TOP) + 1, levels do
        if debug.getinfo(level + 2, "f").func == protected then
            return level
        end
    end
    return nil
end

-- How many lines these levels have in a traceback; math.huge: more than a traceback shows.
local function count_lines(first, last)
    if last - first > NEAR_TOP then
        return math.huge
    end
    local count = 0
    for level = first, last do
        count = count + (debug.getinfo(level + 2, WHAT).istailcall and 2 or 1)
    end
    return count
end

-- The lines of a traceback, and the number of the line "...", which stands for skipped levels.
local function lines_of(text)
    local lines, gap = {}, nil
    for line in text:gmatch("\n(\t[^\n]*)") do
        lines[#lines + 1] = line
        if line == "\t..." or line:find("^\t%.%.%.\t%(skipping") then
            gap = #lines
        end
    end
    return lines, gap
end

-- True if the text names a mistake of the script, which KubeLua has raised: it begins with the line
-- of the script.
local function is_misuse(problem)
    local line = type(problem) == "string" and scopes.script_line() or ""
    return line ~= "" and problem:sub(1, #line) == line
end

-- How many levels before that of the script are KubeLua's own: they tell nothing about a mistake of
-- the script. 0: the script itself has called error. `script` is the level of the script in
-- trace.handler, `call` that at which KubeLua calls the script.
local function find_own(script, call, levels)
    local last = (call or levels + 1) - 1
    last = script and math.min(script - 2, last) or last
    for level = 1, last do
        if debug.getinfo(level + 2, "S").what ~= "C" then
            return last
        end
    end
    return 0
end

---The message handler of xpcall.
---@param problem any
---@return string|table text; or trace.CANCELED as it is
function trace.handler(problem)
    if problem == trace.CANCELED then
        return problem
    end
    local lines, gap = lines_of(debug.traceback("", 2))
    local levels = count_levels()
    local call = find_call(levels)
    local kept, skipped = #lines, 0
    if call then
        kept = kept - count_lines(call, levels)
        if gap and kept <= gap then -- all lines after the gap are KubeLua's
            kept = math.min(gap, count_lines(1, call - 1))
        end
    end
    if lines[kept] == TAIL_CALLS then
        kept = kept - 1
    end
    if is_misuse(problem) then
        local _, script = core.script_line()
        skipped = count_lines(1, find_own(script, call, levels))
    end
    local text = describe(problem)
    if kept > skipped then
        text = text .. "\nstack traceback:\n" .. table.concat(lines, "\n", skipped + 1, kept)
    end
    return text
end

---Calls a function of the script. Returns true and its result, or false and the text of its error.
---@param f function
---@param ... any
---@return boolean, any
function trace.call(f, ...)
    return protected(f, trace.handler, ...)
end

---Makes the same function, but `judge` may turn the error into a table, which is then returned
---instead of the text.
---@param judge fun(problem: any): table?
---@return fun(f: function, ...): boolean, any
function trace.judged(judge)
    local function handle(problem)
        local verdict = judge(problem)
        if verdict then
            return verdict
        end
        return trace.handler(problem)
    end
    return function(f, ...)
        return protected(f, handle, ...)
    end
end

---The text of the error that a coroutine ended with.
---@param co thread
---@param problem any
---@return string
function trace.of(co, problem)
    return debug.traceback(co, describe(problem))
end

return trace
