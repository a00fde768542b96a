-- What a script raised, as text: any value, with the part of the traceback that is its own.
local trace = {}

local function describe(problem)
    local kind = type(problem)
    local meta = getmetatable(problem)
    if kind == "string" or kind == "number" or type(meta) == "table" and meta.__tostring then
        local ok, text = pcall(tostring, problem)
        if ok then
            return text
        end
    end
    return "the error is no text, but a " .. kind
end

-- From where KubeLua calls the script on, the frames are KubeLua's. LuaJIT names what is called by
-- the caller's variable.
local function cut(text)
    for _, name in ipairs { "xpcall", "protected" } do
        text = text:gsub("\n%s+%[C%]: in function '" .. name
            .. "'\n%s+[^\n]*kubelua/[%w_/]+%.lua:.*$", "")
    end
    return (text:gsub("\n%s+%(%.%.%.tail calls%.%.%.%)$", ""))
end

---The message handler of xpcall.
---@param problem any
---@return string
function trace.handler(problem)
    return cut(debug.traceback(describe(problem), 2))
end

---The same for a coroutine that ended with that error.
---@param co thread
---@param problem any
---@return string
function trace.of(co, problem)
    return cut(debug.traceback(co, describe(problem)))
end

return trace
