-- Tables of options are checked here: a name that does not exist is misuse, told with the nearest.
local misuse = require "kubelua.misuse"

local options = {}

-- How many letters have to be added, dropped or changed to make one word of the other.
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

---The names of a table, sorted.
---@param types table<string, any>
---@return string[]
function options.names(types)
    local names = {}
    for name in pairs(types) do
        names[#names + 1] = name
    end
    table.sort(names)
    return names
end

local function refuse(call, name, types)
    local names = options.names(types)
    if type(name) ~= "string" then
        misuse("%s takes options by name, such as { %s = ... }", call, names[1])
    end
    local nearest = options.nearest(name, names)
    misuse("%s: there is no option '%s'; %sthere are %s", call, name,
        nearest and "do you mean '" .. nearest .. "'? " or "", table.concat(names, ", "))
end

-- "string|table" as a message has it.
local function in_words(wanted)
    return (wanted:gsub("|", " or "):gsub("%a+", { boolean = "true or false", string = "a string",
        number = "a number", table = "a table", ["function"] = "a function" }))
end

local function fits(wanted, value)
    return ("|" .. wanted .. "|"):find("|" .. type(value) .. "|", 1, true) ~= nil
end

---Raises unless `given` is a table whose keys are among the names, each of its type.
---@param call string for the message
---@param given table
---@param types table<string, string> name to type, or to several: "string|table"
function options.check(call, given, types)
    if type(given) ~= "table" then
        misuse("%s: a table of options expected, not a %s", call, type(given))
    end
    for name, value in pairs(given) do
        local wanted = types[name]
        if not wanted then
            refuse(call, name, types)
        elseif not fits(wanted, value) then
            misuse("%s: '%s' must be %s, not a %s", call, name, in_words(wanted), type(value))
        end
    end
end

---The same for options that may be left out; returns a table.
---@param call string
---@param given table?
---@param types table<string, string>
---@return table
function options.optional(call, given, types)
    if given == nil then
        return {}
    end
    options.check(call, given, types)
    return given
end

---Raises unless the value of an option is one of the choices; nil is fine.
---@param call string
---@param name string
---@param value string?
---@param choices table<string, any>
function options.choice(call, name, value, choices)
    if value ~= nil and choices[value] == nil then
        local words = options.names(choices)
        local nearest = options.nearest(value, words)
        misuse("%s: '%s' is \"%s\", not \"%s\"%s", call, name, table.concat(words, "\", \""),
            value, nearest and "; do you mean \"" .. nearest .. "\"?" or "")
    end
end

return options
