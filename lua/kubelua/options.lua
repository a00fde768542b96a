-- Checks tables of options. A name that does not exist raises an error that names the nearest
-- option.
local misuse = require "kubelua.misuse"
local sorted_keys = require "kubelua.sorted_keys"

local options = {}

-- The edit distance: how many letters must be added, dropped or changed to turn one word into the
-- other.
local function edit_distance(a, b)
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

---The word that is nearest to `word`, if one is near enough.
---@param word string
---@param words string[]
---@return string?
function options.nearest(word, words)
    local nearest, least = nil, math.max(2, math.floor(#word / 3)) + 1
    for _, other in ipairs(words) do
        if math.abs(#other - #word) < least then
            local between = edit_distance(word:lower(), other:lower())
            if between < least then
                nearest, least = other, between
            end
        end
    end
    return nearest
end

local function refuse_option(call, name, types)
    local names = sorted_keys(types)
    if type(name) ~= "string" then
        misuse("%s takes options by name, such as { %s = ... }", call, names[1])
    end
    local nearest = options.nearest(name, names)
    misuse("%s: there is no option '%s'; %sthere are %s", call, name,
        nearest and "do you mean '" .. nearest .. "'? " or "", table.concat(names, ", "))
end

-- "string|table" in words, for a message.
local function describe_types(wanted)
    return (wanted:gsub("|", " or "):gsub("%a+", { boolean = "true or false", string = "a string",
        number = "a number", table = "a table", ["function"] = "a function" }))
end

local function has_type(wanted, value)
    return ("|" .. wanted .. "|"):find("|" .. type(value) .. "|", 1, true) ~= nil
end

---Raises unless `given` is a table whose keys are option names, and whose values have the right
---types.
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
            refuse_option(call, name, types)
        elseif not has_type(wanted, value) then
            misuse("%s: '%s' must be %s, not a %s", call, name, describe_types(wanted), type(value))
        end
    end
end

---The same for options that may be absent; returns a table in any case.
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

---Raises unless the value of an option is one of the choices. nil is allowed.
---@param call string
---@param name string
---@param value string?
---@param choices table<string, any>
function options.choice(call, name, value, choices)
    if value ~= nil and choices[value] == nil then
        local words = sorted_keys(choices)
        local nearest = options.nearest(value, words)
        misuse("%s: '%s' is \"%s\", not \"%s\"%s", call, name, table.concat(words, "\", \""),
            value, nearest and "; do you mean \"" .. nearest .. "\"?" or "")
    end
end

return options
