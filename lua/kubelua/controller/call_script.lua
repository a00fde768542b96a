-- Calls a function of the script that must not wait, such as map or when.
local tasks = require "kubelua.tasks"
local trace = require "kubelua.trace"

---Returns its result; raises its error, as text.
---@param what string the function, for messages
---@param f function
---@param a any
---@param b any
---@return any
return function(what, f, a, b)
    local task = tasks.current(what)
    task.no_wait = what
    local ok, result = trace.call(f, a, b)
    task.no_wait = nil
    if not ok then
        error(result, 0)
    end
    return result
end
