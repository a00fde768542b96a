-- Reads a value in YAML's flow style, as the lines of themes write it: {a: 1, b: [x, 'y z', null]}.
local core = require "kubelua.core"

local flow = {}

local WORDS = { ["true"] = true, ["false"] = false, null = core.null }

local read_value

local function skip_blanks(text, at)
    return text:match("^%s*()", at)
end

-- 'a quoted text', in which '' is a quote, or JSON's "text".
local function read_quoted(text, at)
    if text:sub(at, at) == '"' then
        local stop = at + 1
        while text:sub(stop, stop) ~= '"' do
            stop = stop + (text:sub(stop, stop) == "\\" and 2 or 1)
        end
        return core.decode("[" .. text:sub(at, stop) .. "]")[1], stop + 1
    end
    local stop = at
    repeat
        stop = assert(text:find("'", stop + 1, true), "a quote that does not end: " .. text)
        local twice = text:sub(stop + 1, stop + 1) == "'"
        stop = stop + (twice and 1 or 0)
    until not twice
    return text:sub(at + 1, stop - 1):gsub("''", "'"), stop + 1
end

local function read_plain(text, at)
    local stop = at
    while stop <= #text and not text:find("^[,}%]]", stop) and not text:find("^:[%s]", stop) do
        stop = stop + 1
    end
    return text:sub(at, stop - 1):match("^(.-)%s*$"), stop
end

local function read_scalar(text, at)
    if text:find("^['\"]", at) then
        local value, stop = read_quoted(text, at)
        return value, stop
    end
    local word, stop = read_plain(text, at)
    if WORDS[word] ~= nil then
        return WORDS[word], stop
    end
    return tonumber(word) or word, stop
end

-- What stands between the brackets; `read_one` reads an item and returns where it ends.
local function read_items(text, at, bracket, read_one)
    at = skip_blanks(text, at + 1)
    while text:sub(at, at) ~= bracket do
        assert(at <= #text, "no " .. bracket .. " in " .. text)
        at = skip_blanks(text, read_one(at))
        at = text:sub(at, at) == "," and skip_blanks(text, at + 1) or at
    end
    return at + 1
end

function read_value(text, at)
    local first = text:sub(at, at)
    if first == "{" then
        local map = {}
        local stop = read_items(text, at, "}", function(from)
            local name, colon = read_scalar(text, from)
            assert(text:sub(colon, colon) == ":", "a name without a value in " .. text)
            local value, after = read_value(text, skip_blanks(text, colon + 1))
            map[tostring(name)] = value
            return after
        end)
        return map, stop
    elseif first == "[" then
        local list = {}
        local stop = read_items(text, at, "]", function(from)
            local value, after = read_value(text, from)
            list[#list + 1] = value
            return after
        end)
        return core.array(list), stop
    end
    return read_scalar(text, at)
end

function flow.read(text)
    local value, stop = read_value(text, skip_blanks(text, 1))
    assert(skip_blanks(text, stop) > #text, "something behind the value: " .. text)
    return value
end

return flow
