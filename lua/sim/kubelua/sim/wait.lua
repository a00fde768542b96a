-- Waiting for what happens in a simulated cluster, and saying what happened instead.
local conditions = require "kubelua.verbs.conditions"
local core = require "kubelua.core"
local loop = require "kubelua.loop"

local methods = {}

local PAUSE = 0.005

local function check_seconds(call, seconds)
    if seconds ~= nil and type(seconds) ~= "number" then
        error(call .. ": how many seconds? A number expected, not a " .. type(seconds), 3)
    end
end

---Waits until `condition()` returns something true, and dispatches meanwhile; returns that.
---@param condition fun(): any
---@param seconds number? of real time; default 10
---@return any, string?, string? the value, or nil, message, "timeout"
function methods.eventually(_, condition, seconds)
    if type(condition) ~= "function" then
        error("eventually: a function expected, not a " .. type(condition), 2)
    end
    check_seconds("eventually", seconds)
    local till = core.now() + (seconds or 10)
    local value = condition()
    while not value do
        if core.now() >= till then
            return nil, "not after " .. (seconds or 10) .. " s", "timeout"
        end
        loop.sleep(PAUSE)
        value = condition()
    end
    return value
end

---Waits until an object is as it should be.
---@param kind string
---@param key string "namespace/name", or "name"
---@param condition function|table|string|nil what returns something true of the object (nil while
---there is none); fields that it has; "deleted"; a condition of its status that is True, such as
---"Ready"; default: it is there
---@param seconds number? of real time; default 10
---@return any, string?, string? the object (true if it is gone), or nil, message, "timeout"
function methods:wait(kind, key, condition, seconds)
    if type(kind) ~= "string" or type(key) ~= "string" then
        error("wait: write wait(\"pods\", \"namespace/name\", condition, seconds)", 2)
    end
    check_seconds("wait", seconds)
    local holds = conditions.reader("wait", condition)
    local last, absent, why
    local is_served = false -- of a kind that never was, nothing can have gone
    local value, message, code = self:eventually(function()
        local problem_code
        last, absent, problem_code = self:get(kind, key)
        if not last and problem_code ~= "not_found" and problem_code ~= "unknown_kind" then
            error("wait: " .. tostring(absent), 0)
        end
        is_served = is_served or last ~= nil or problem_code == "not_found"
        local met
        met, why = holds(last)
        return is_served and met and (last or true)
    end, seconds)
    if value then
        return value
    end
    return nil, conditions.tell(kind .. " " .. key, message, last, why, tostring(absent)), code
end

return methods
