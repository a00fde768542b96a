-- What a member does for the ring besides its work: the ring's own Lease names all members that may
-- be at work, and the Leases of those that are gone are deleted. One member does it for others.
local sorted_keys = require "kubelua.sorted_keys"

local clearing = {}

-- True if this member clears up after others: one does it, the first by name.
local function is_first(ring)
    for token, other in pairs(ring.others) do
        if ring.is_present(other) and token < ring.token then
            return false
        end
    end
    return ring:is_at_work()
end

---The members that may be at work, as the ring's own Lease should name them; nil: it does so.
---@param ring kubelua.shards.Ring
---@return string[]?
function clearing.registration(ring)
    local tokens, differs = {}, not (ring.registry and ring.registry[ring.token])
    tokens[ring.token] = true
    local clears = is_first(ring)
    for token in pairs(ring.registry or {}) do
        local other = ring.others[token]
        if clears and token ~= ring.token and (not other or ring.has_left(other)
            or ring:is_dead(other)) then
            differs = true
        else
            tokens[token] = true
        end
    end
    return differs and sorted_keys(tokens) or nil
end

---The members whose Leases can be deleted: they have left or are dead, and the ring's own Lease
---does not name them.
---@param ring kubelua.shards.Ring
---@return string[]
function clearing.remains(ring)
    local tokens = {}
    for token, other in pairs(is_first(ring) and ring.others or {}) do
        if other.facts and not other.is_missing and ring.registry and not ring.registry[token]
            and (ring.has_left(other) or ring:is_dead(other)) then
            tokens[#tokens + 1] = token
        end
    end
    return tokens
end

return clearing
