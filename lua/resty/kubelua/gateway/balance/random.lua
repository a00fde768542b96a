-- Random numbers for balancers: each worker has a stream of its own, while math.random gives the
-- same numbers in all workers of nginx. The generator of Park and Miller: cheap, exact in doubles.
local random = {}

local MODULUS, FACTOR = 2147483647, 16807

---@param seed number any whole number
---@return fun(): number next at least 0, less than 1
function random.new(seed)
    local state = seed % (MODULUS - 1) + 1
    local function next_number()
        state = state * FACTOR % MODULUS
        return (state - 1) / (MODULUS - 1)
    end
    for _ = 1, 4 do -- the first ones of near seeds are near each other
        next_number()
    end
    return next_number
end

return random
