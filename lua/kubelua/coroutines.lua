-- Coroutines for the runs of controllers. One that has returned from a run serves the next one: a
-- new one would get its stack step by step again, and leave it to the collector.
local nginx = require "kubelua.nginx"

local coroutines = {}

-- Idle ones that are kept at most. A controller with more workers makes the others anew.
local MOST = 64

-- The array has its size from the start: to keep a coroutine must not fail when memory is short.
local idle, count = {}, 0
for i = 1, MOST do
    idle[i] = false
end

-- One that was taken yields this when its function has returned.
local RETURNED = {}
coroutines.RETURNED = RETURNED

local function call(f, a)
    f(a)
end

-- Without local variables: an idle coroutine keeps no function and no argument alive.
local function serve()
    while true do
        call(nginx.yield(RETURNED))
    end
end

---A coroutine for one function.
---@return thread
function coroutines.take()
    if count == 0 then
        local made = nginx.create(serve)
        assert(nginx.resume(made)) -- to its first yield
        return made
    end
    local co = idle[count]
    idle[count], count = false, count - 1
    return co
end

---Takes the coroutine of a task that has ended. If it was taken here, and its function has returned
---or was never called, it serves another task.
---@param task kubelua.Task
---@param co thread
function coroutines.give(task, co)
    if task.f ~= nil and count < MOST then
        count = count + 1
        idle[count] = co
    end
end

return coroutines
