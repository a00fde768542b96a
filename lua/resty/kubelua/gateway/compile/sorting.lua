-- Sorts lists of any length without keeping the worker for long: table.sort cannot wait in between.
-- Short parts are sorted by it, and then merged, with a pause now and then. Pure.
local sorting = {}

local PART = 128
local STEPS = 64 -- elements that are merged between two calls of `pace`

local function by_value(a, b)
    return a < b
end

local function sort_part(list, from, to, before)
    local part = {}
    for i = from, to do
        part[#part + 1] = list[i]
    end
    table.sort(part, before)
    for i, item in ipairs(part) do
        list[from + i - 1] = item
    end
end

-- Merges list[from .. middle] and list[middle + 1 .. to] into `into`.
local function merge(list, into, from, middle, to, before, pace)
    local left, right = from, middle + 1
    for i = from, to do
        if left <= middle and (right > to or not before(list[right], list[left])) then
            into[i], left = list[left], left + 1
        else
            into[i], right = list[right], right + 1
        end
        if i % STEPS == 0 then
            pace()
        end
    end
end

---Sorts a list; it may be another table that is returned.
---@generic T
---@param list T[] not to be used any more
---@param before (fun(a: T, b: T): boolean)? default: <
---@param pace fun() called between two pieces of work
---@return T[]
function sorting.sort(list, before, pace)
    before = before or by_value
    for from = 1, #list, PART do
        sort_part(list, from, math.min(from + PART - 1, #list), before)
        pace()
    end
    local width, count = PART, #list
    while width < count do
        local into = {}
        for from = 1, count, 2 * width do
            merge(list, into, from, math.min(from + width - 1, count),
                math.min(from + 2 * width - 1, count), before, pace)
        end
        list, width = into, 2 * width
    end
    return list
end

---The keys of a table, sorted.
---@param map table<string, any>
---@param pace fun()
---@return string[]
function sorting.keys(map, pace)
    local keys = {}
    for key in pairs(map) do
        keys[#keys + 1] = key
    end
    return sorting.sort(keys, nil, pace)
end

return sorting
