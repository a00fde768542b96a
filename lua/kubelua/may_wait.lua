-- Where a call may wait, and what to do where it may not.
local core = require "kubelua.core"
local misuse = require "kubelua.misuse"
local nginx = require "kubelua.nginx"

local may_wait = {}

local ADVICE = "call it inside kubelua.spawn(function() ... end), and let the host call "
    .. "kubelua.step(0) whenever kubelua.fd() is readable"

---Raises outside of tasks if the call would block a host: in a coroutine that is not the main one
---(its host runs others meanwhile), or anywhere once kubelua.host(true) was called.
---@param tasks kubelua.Tasks
---@param name string of the call, for the message
function may_wait.check_host(tasks, name)
    local co, is_main = coroutine.running() -- LuaJIT: nil in the main coroutine
    if nginx.is_inside then
        return -- it has guards of its own
    elseif tasks.is_hosted then
        misuse("%s would block the host (kubelua.host); %s", name, ADVICE)
    elseif co and not is_main and not tasks.mains[co] then
        misuse("%s inside a coroutine of your own would block every other one; %s", name, ADVICE)
    end
end

---Raises where waiting is impossible: inside a coroutine that a handler made (the loop would run
---inside of itself), inside a function that C called (it cannot yield), and outside of tasks where
---it would block nginx's worker.
---@param tasks kubelua.Tasks
---@param current kubelua.Task? the task that runs
---@param name string of the call, for the message
function may_wait.check(tasks, current, name)
    if current and coroutine.running() ~= current.co then
        misuse(name .. " inside a coroutine of your own; use kubelua.spawn for one that can wait")
    end
    if current and not core.is_yieldable() then
        misuse(name .. " inside a function that C called, such as one for table.sort or "
            .. "string.gsub, which cannot wait")
    end
    if current and current.no_wait then
        misuse("%s inside %s, which must not wait", name, current.no_wait)
    elseif not current and tasks.running then
        misuse(name .. " inside a function that the loop itself calls, which cannot wait; use "
            .. "kubelua.spawn")
    elseif not current then
        may_wait.check_host(tasks, name)
        nginx.refuse_wait(name)
    end
end

return may_wait
