-- Waits for what other threads bring about: dispatches events until a condition holds, or fails
-- when its time is over. The only way to wait that the conformance specs have.
local core = require "kubelua.core"
local kubelua = require "kubelua"

-- Between two looks at what makes no event of this lua_State, such as a cache.
local LOOK = 0.01
local SECONDS = 60

---Returns what `condition` returned when it became true.
---@param condition fun(): any
---@param what string|fun(): string what is waited for, for the failure
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
