-- The named locations of nginx.conf for requests that may be tried again after a status. The words
-- of proxy_next_upstream take no variable, and nginx drops an answer before it asks for another
-- endpoint: so each set of statuses has a location of its own, else an answer would be lost that
-- should reach the client. ../nginx/retries.conf has them. Pure.
local places = {}

local STATUSES = { 500, 502, 503, 504 }
local NON_IDEMPOTENT = 16 -- in a number; a status is its bit by the order above

local function name_of(number)
    return "@kubelua_again_" .. number
end

---True if a request can be tried again after this status.
---@param status any
---@return boolean
function places.has(status)
    for _, each in ipairs(STATUSES) do
        if each == status then
            return true
        end
    end
    return false
end

---The location for these reasons to try again; nil: those of all other locations.
---@param on table<string, true>
---@param non_idempotent boolean?
---@return string?
function places.of(on, non_idempotent)
    local number = non_idempotent and NON_IDEMPOTENT or 0
    for i, status in ipairs(STATUSES) do
        number = number + (on[tostring(status)] and 2 ^ (i - 1) or 0)
    end
    if number == 0 and not on.invalid_header then
        return nil
    end
    return name_of(("%d"):format(number))
end

return places
