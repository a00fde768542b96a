-- Waits for effects of other threads: dispatches events until a condition holds, and fails after a
-- time limit. It is the only way in which the conformance specs wait.
local core = require "kubelua.core"
local kubelua = require "kubelua"

-- The time between two checks of a condition that makes no event in this lua_State, such as the
-- content of a cache.
local LOOK = 0.01
local SECONDS = 60

---Returns the result of `condition` once it is true.
---@param condition fun(): any
---@param what string|fun(): string what is waited for: the message of a failure
---@param seconds number? default: 60
---@return any
local function eventually(condition, what, seconds)
    seconds = seconds or SECONDS
    local deadline = core.now() + seconds
    while true do
        local result = condition()
        if result then
            return result
        end
        if core.now() >= deadline then
            what = type(what) == "function" and what() or what
            error(string.format("not within %g seconds: %s", seconds, what), 2)
        end
        kubelua.step(LOOK)
    end
end

return eventually
