-- What a member of a ring should announce, by what it sees.
local sorted_keys = require "kubelua.sorted_keys"

local announcing = {}

---The oldest member says how the parts are shared out: the token of that member if it says
---otherwise than this one.
---@param ring kubelua.shards.Ring
---@return string?
function announcing.find_older(ring)
    local oldest, acquired, by = ring.token, ring.acquired, ring.by
    for token, other in pairs(ring.others) do
        local facts = other.facts
        if ring.is_present(other) and facts.by ~= "" and (facts.acquired < acquired
            or facts.acquired == acquired and token < oldest) then
            oldest, acquired, by = token, facts.acquired, facts.by
        end
    end
    return by ~= ring.by and oldest or nil
end

-- True if the last announcement is from before the Lease was lost.
local function begins_anew(ring)
    local last = ring.said[#ring.said]
    return last ~= nil and last.number < ring.first
end

---The members that are there and share out as this one does, with this one.
---@param ring kubelua.shards.Ring
---@return string
function announcing.members(ring)
    local tokens = { [ring.token] = true }
    for token, other in pairs(ring.others) do
        if ring.is_present(other) and other.facts.by == ring.by then
            tokens[token] = true
        end
    end
    return table.concat(sorted_keys(tokens), ",")
end

---The members between which this one should share out the parts; "": it should work on nothing.
---@param ring kubelua.shards.Ring
---@return string
function announcing.text(ring)
    if begins_anew(ring) then
        return ring.said[#ring.said].text
    elseif ring.stands_by then
        return ""
    end
    return announcing.members(ring)
end

---True if what was announced last must be announced anew.
---@param ring kubelua.shards.Ring
---@param text string what should be announced now
---@return boolean
function announcing.is_outdated(ring, text)
    local last = ring.said[#ring.said]
    if not last or last.text ~= text or begins_anew(ring) or last.number < (ring.anew or 0) then
        return true
    end
    for _, other in pairs(ring.others) do
        if other.dead_after and other.dead_after > last.number then
            return true
        end
    end
    return false
end

return announcing
