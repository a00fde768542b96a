-- The named locations of nginx.conf for requests that may be tried again after a status. The words
-- of proxy_next_upstream take no variable, and nginx drops an answer before it asks for another
-- endpoint: so each set of statuses has a location of its own, else an answer would be lost that
-- should reach the client. Pure.
local places = {}

local STATUSES = { 500, 502, 503, 504 }
local NON_IDEMPOTENT = 16 -- in a number; a status is its bit by the order above
local PLACE = "location %s { rewrite_by_lua_block { gateway.resume() } proxy_next_upstream error "
    .. "timeout invalid_header%s; proxy_pass $kubelua_to$kubelua_uri; }"

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

---All of them, for nginx.conf.
---@return string
function places.directives()
    local texts = {}
    for number = 0, 2 * NON_IDEMPOTENT - 1 do
        local words, rest = number >= NON_IDEMPOTENT and " non_idempotent" or "", number
        for _, status in ipairs(STATUSES) do
            words = words .. (rest % 2 == 1 and " http_" .. status or "")
            rest = (rest - rest % 2) / 2
        end
        texts[#texts + 1] = PLACE:format(name_of(number), words)
    end
    return table.concat(texts, " ")
end

return places
