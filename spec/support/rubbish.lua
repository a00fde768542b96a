-- Objects that make no sense: a value somewhere in a good one becomes another.
local rubbish = {}

local VALUES = { 0, -1, 1e300, "", "*", "/", ("x"):rep(5000), true, false, {}, { {} }, { "x" },
    { a = 1 } }

---Replaces one value somewhere below a table.
---@param value table
---@param random fun(most: integer): integer
---@param depth integer
function rubbish.spoil(value, random, depth)
    local keys = {}
    for key in pairs(value) do
        keys[#keys + 1] = key
    end
    table.sort(keys, function(a, b)
        return tostring(a) < tostring(b)
    end)
    local key = keys[random(#keys > 0 and #keys or 1)]
    if key == nil then
        return
    elseif type(value[key]) == "table" and next(value[key]) and depth > 0 and random(4) > 1 then
        rubbish.spoil(value[key], random, depth - 1)
    else
        value[key] = VALUES[random(#VALUES)]
    end
end

return rubbish
