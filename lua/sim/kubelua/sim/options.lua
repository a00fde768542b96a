-- Tables of options that are checked: one that does not exist raises an error naming the nearest.
local options = {}

local function distance(a, b)
    local row = {}
    for j = 0, #b do
        row[j] = j
    end
    for i = 1, #a do
        local diagonal = row[0]
        row[0] = i
        for j = 1, #b do
            local cost = a:byte(i) == b:byte(j) and diagonal or diagonal + 1
            diagonal = row[j]
            row[j] = math.min(cost, row[j] + 1, row[j - 1] + 1)
        end
    end
    return row[#b]
end

---The nearest of some words, if one of them is near.
---@param word string
---@param words string[]
---@return string?
function options.nearest(word, words)
    local nearest, least = nil, math.max(2, math.floor(#word / 3)) + 1
    for _, other in ipairs(words) do
        local between = distance(word:lower(), other:lower())
        if between < least then
            nearest, least = other, between
        end
    end
    return nearest
end

local function fits(wanted, value)
    return ("|" .. wanted .. "|"):find("|" .. type(value) .. "|", 1, true) ~= nil
end

---Raises unless `given` is a table (or nil) whose keys are among the names, each of its type.
---@param call string for the message
---@param given table?
---@param types table<string, string> name to type; "any", or several: "string|table"
---@param level integer? of the error: 1 is whoever calls check
---@return table given never nil
function options.check(call, given, types, level)
    level = (level or 2) + 1
    if given == nil then
        return {}
    elseif type(given) ~= "table" then
        error(call .. ": a table of options expected, not a " .. type(given), level)
    end
    for name, value in pairs(given) do
        local wanted = types[name]
        if not wanted then
            local names = {}
            for other in pairs(types) do
                names[#names + 1] = other
            end
            table.sort(names)
            local nearest = options.nearest(tostring(name), names)
            error(call .. ": there is no option '" .. tostring(name) .. "'; "
                .. (nearest and "do you mean '" .. nearest .. "'?"
                    or "there are " .. table.concat(names, ", ")), level)
        elseif wanted ~= "any" and not fits(wanted, value) then
            error(call .. ": option '" .. name .. "' must be a " .. wanted:gsub("|", " or a ")
                .. ", not a " .. type(value), level)
        end
    end
    return given
end

return options
