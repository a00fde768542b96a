-- Durations of Gateway API (GEP-2257): "1h30m", "500ms"; one to four numbers of at most five digits
-- with a unit each. Pure.
local durations = {}

local UNITS = { h = 3600, m = 60, s = 1, ms = 0.001 }

---@param text any
---@return number? seconds nil: not a duration
function durations.parse(text)
    if type(text) ~= "string" or text == "" then
        return nil
    end
    local seconds, place, parts = 0, 1, 0
    while place <= #text do
        local digits, unit = text:match("^(%d+)(%a+)", place)
        if not digits or #digits > 5 or not UNITS[unit] or parts == 4 then
            return nil
        end
        seconds = seconds + tonumber(digits) * UNITS[unit]
        place, parts = place + #digits + #unit, parts + 1
    end
    return seconds
end

return durations
