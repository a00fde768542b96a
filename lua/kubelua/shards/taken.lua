-- The parts that other members of a ring may be working on, by what they have announced. Most of
-- them announce the same: these are looked at together, so that a look costs little more with 600
-- members than with a few.
local taken = {}

local PARTS = require("kubelua.shards.parts").COUNT

-- The others that may be at work, by what they have announced; nil: one of them may have any part.
local function group_claims(ring)
    local groups = {}
    for token, other in pairs(ring.others) do
        local facts = other.facts
        if not ring.has_left(other) and not ring:is_dead(other) then
            if not facts or (facts.by ~= ring.by and facts.claims ~= "") then
                return nil
            end
            local group = groups[facts.claims] or {}
            groups[facts.claims], group[token] = group, true
        end
    end
    return groups
end

---Removes from a set of parts those that others may be working on; returns the set.
---@param ring kubelua.shards.Ring
---@param parts table<integer, true>
---@return table<integer, true>
function taken.remove(ring, parts)
    local groups = group_claims(ring)
    for claims, group in pairs(groups or {}) do
        local owners = ring.owners:of(claims)
        for part = 1, PARTS do
            if group[owners[part]] then
                parts[part] = nil
            end
        end
    end
    return groups and parts or {}
end

return taken
