-- The JSON patch (RFC 6902) that leads from one object to another: what a mutating webhook answers.
-- Both are tables of kubelua.decode. Only what differs is in it, so that a webhook that runs before
-- or after this one keeps its own changes.
local core = require "kubelua.core"

local patch = {}

---@class kubelua.admission.Operation an operation of a JSON patch
---@field op "add"|"remove"|"replace"
---@field path string a JSON pointer (RFC 6901)
---@field value any of add and replace

local ARRAY = getmetatable(core.array({}))

-- Elements that two arrays have in common are searched in at most this many pairs. Longer arrays
-- get a correct patch too, which may replace elements that have only moved.
local MOST_PAIRS = 10000

-- Below so many levels a value that differs is replaced as a whole.
local MOST_LEVELS = 64

local function is_array(value)
    return getmetatable(value) == ARRAY
end

-- A script writes {} for an empty array, too: the place says which one it is.
local function is_empty(value)
    return next(value) == nil
end

-- True if both are arrays or both objects, with the same keys.
local function has_keys_of(a, b)
    if is_array(a) then
        return (is_array(b) or is_empty(b)) and #a == #b
    elseif is_array(b) then
        return false
    end
    for key in pairs(a) do
        if b[key] == nil then
            return false
        end
    end
    for key in pairs(b) do
        if a[key] == nil then
            return false
        end
    end
    return true
end

-- Without recursion, as JSON may be deeper than the stack of Lua.
local function equals_table(a, b)
    local left = { a, b }
    while #left > 0 do
        b, a = table.remove(left), table.remove(left)
        if not has_keys_of(a, b) then
            return false
        end
        for key, one in pairs(a) do
            local other = b[key]
            if type(one) == "table" and type(other) == "table" then
                left[#left + 1] = one
                left[#left + 1] = other
            elseif one ~= other then
                return false
            end
        end
    end
    return true
end

local function equals(a, b)
    if type(a) == "table" and type(b) == "table" then
        return equals_table(a, b)
    end
    return a == b
end

-- The pointer of a member or an element.
local function pointer(path, key)
    if type(key) == "number" then
        return path .. "/" .. string.format("%d", key - 1)
    end
    return path .. "/" .. key:gsub("~", "~0"):gsub("/", "~1")
end

local function add_operation(operations, op, path, value)
    operations[#operations + 1] = { op = op, path = path, value = value }
end

local diff

local function sorted_keys(a, b)
    local keys = {}
    for key in pairs(a) do
        keys[#keys + 1] = key
    end
    for key in pairs(b) do
        if a[key] == nil then
            keys[#keys + 1] = key
        end
    end
    table.sort(keys)
    return keys
end

local function diff_object(operations, path, before, after, level)
    for _, key in ipairs(sorted_keys(before, after)) do
        local place = pointer(path, key)
        if after[key] == nil then
            add_operation(operations, "remove", place)
        elseif before[key] == nil then
            add_operation(operations, "add", place, after[key])
        else
            diff(operations, place, before[key], after[key], level)
        end
    end
end

-- How many elements are equal at the beginning, and behind those at the end.
local function common_ends(before, after)
    local least, first, last = math.min(#before, #after), 0, 0
    while first < least and equals(before[first + 1], after[first + 1]) do
        first = first + 1
    end
    while last < least - first and equals(before[#before - last], after[#after - last]) do
        last = last + 1
    end
    return first, last
end

-- A number for each element, the same for equal ones; `known` has those of equal hashes. So each
-- element is compared as a whole only once.
local function number_elements(known, array, first, count)
    local numbers = {}
    for i = 1, count do
        local element = array[first + i]
        local hash = core.hash(element)
        local same = known[hash] or {}
        known[hash] = same
        for _, one in ipairs(same) do
            numbers[i] = numbers[i] or (equals(one.element, element) and one.number or nil)
        end
        if not numbers[i] then
            known.count = known.count + 1
            numbers[i] = known.count
            same[#same + 1] = { element = element, number = known.count }
        end
    end
    return numbers
end

-- lengths[i][j]: how long the longest common sequence of a[i ...] and b[j ...] is.
local function common_lengths(a, b)
    local lengths = { [#a + 1] = {} }
    for j = 1, #b + 1 do
        lengths[#a + 1][j] = 0
    end
    for i = #a, 1, -1 do
        local row, below = { [#b + 1] = 0 }, lengths[i + 1]
        for j = #b, 1, -1 do
            row[j] = a[i] == b[j] and below[j + 1] + 1 or math.max(below[j], row[j + 1])
        end
        lengths[i] = row
    end
    return lengths
end

-- Pairs of places { in before, in after } with equal elements, in order, between the common ends.
local function find_pairs(before, after, first, last)
    local count_before, count_after = #before - first - last, #after - first - last
    local found, known = {}, { count = 0 }
    if count_before * count_after > MOST_PAIRS then
        return found
    end
    local a = number_elements(known, before, first, count_before)
    local b = number_elements(known, after, first, count_after)
    local lengths = common_lengths(a, b)
    local i, j = 1, 1
    while i <= #a and j <= #b do
        if a[i] == b[j] then
            found[#found + 1] = { first + i, first + j }
            i, j = i + 1, j + 1
        elseif lengths[i + 1][j] >= lengths[i][j + 1] then
            i = i + 1
        else
            j = j + 1
        end
    end
    return found
end

-- Operations for the elements between two pairs: `from` and `to` are their last places, `at` is the
-- place in the array as the operations so far have left it. They run from the front to the back, so
-- the array is already like `after` up to there.
local function diff_gap(operations, path, gap, level)
    local both = math.min(gap.before_end - gap.before, gap.after_end - gap.after)
    for step = 1, both do
        diff(operations, pointer(path, gap.after + step), gap.old[gap.before + step],
            gap.new[gap.after + step], level)
    end
    for _ = gap.before + both + 1, gap.before_end do
        add_operation(operations, "remove", pointer(path, gap.after + both + 1))
    end
    for place = gap.after + both + 1, gap.after_end do
        add_operation(operations, "add", pointer(path, place), gap.new[place])
    end
end

local function diff_array(operations, path, before, after, level)
    local first, last = common_ends(before, after)
    local found = find_pairs(before, after, first, last)
    found[#found + 1] = { #before - last + 1, #after - last + 1 }
    local at_before, at_after = first, first
    for _, pair in ipairs(found) do
        diff_gap(operations, path, { old = before, before = at_before, before_end = pair[1] - 1,
            new = after, after = at_after, after_end = pair[2] - 1 }, level)
        at_before, at_after = pair[1], pair[2]
    end
end

-- True if the difference of two values is that of their members or elements.
local function is_divisible(before, after, level)
    if type(before) ~= "table" or type(after) ~= "table" or level > MOST_LEVELS then
        return false
    elseif is_array(before) then
        return is_array(after) or is_empty(after)
    end
    return not is_array(after)
end

function diff(operations, path, before, after, level)
    if not is_divisible(before, after, level) then
        if not equals(before, after) then
            add_operation(operations, "replace", path, after)
        end
    elseif is_array(before) then
        diff_array(operations, path, before, after, level + 1)
    else
        diff_object(operations, path, before, after, level + 1)
    end
end

---The operations that lead from one value to the other; an empty list if they are equal. They are
---meant to be applied one after the other.
---@param before any of kubelua.decode
---@param after any of kubelua.decode
---@return kubelua.admission.Operation[]
function patch.diff(before, after)
    local operations = core.array({})
    diff(operations, "", before, after, 1)
    return operations
end

return patch
