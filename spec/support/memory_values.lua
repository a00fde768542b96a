-- Calls on values and clocks, for specs of failing allocations; see memory_world.lua.
local core = require "kubelua.core"

local values = {}

---@param calls table the calls by name, to which these are added
---@param must fun(value: any, message: string?, code: string?): any
---@param object fun(): kubelua.Object
function values.add_calls(calls, must, object)
    calls["core.array"] = function() core.array() end
    calls["core.base64"] = function() must(core.base64("text")) end
    calls["core.unbase64"] = function() must(core.unbase64("dGV4dA==")) end
    calls["core.hash"] = function() must(core.hash(object())) end
    calls["core.time"] = function() must(core.time("2026-01-01T00:00:00Z")) end
    calls["core.timestamp"] = function() must(core.timestamp(1)) end
    calls["core.now"] = function() core.now() end
    calls["core.unix"] = function() core.unix() end
    calls["core.is_yieldable"] = function() core.is_yieldable() end
end

return values
