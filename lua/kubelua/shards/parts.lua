-- Sets of parts of a ring: tables with true at the numbers 1 to 256.
local parts = {
    COUNT = 256, -- KL_SHARD_PARTS of kubelua/shard.h
}

local COUNT = parts.COUNT

---@param a table<integer, true>
---@param b table<integer, true>
---@return boolean
function parts.are_equal(a, b)
    for part = 1, COUNT do
        if a[part] ~= b[part] then
            return false
        end
    end
    return true
end

---The parts that are in both.
---@param a table<integer, true>
---@param b table<integer, true>
---@return table<integer, true>
function parts.both(a, b)
    local found = {}
    for part in pairs(a) do
        found[part] = b[part]
    end
    return found
end

---The shard of an informer that has these parts: "0/256,255/256". Without parts it is one that has
---hardly an object: that it is listed shows that the others can be.
---@param set table<integer, true>
---@return string
function parts.shard(set)
    local names = {}
    for part = 1, COUNT do
        names[#names + 1] = set[part] and (part - 1) .. "/" .. COUNT or nil
    end
    return names[1] and table.concat(names, ",") or "0/65536"
end

return parts
