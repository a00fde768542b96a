-- Which differences are known (differences.lua), and whether that still is the truth.
local known = { all = require "differences" }

local FILE = "sim/spec/truth/differences.lua"

local by_request, asked, anywhere = {}, {}, {}
for _, difference in ipairs(known.all) do
    if difference.anywhere then
        anywhere[#anywhere + 1] = difference
    end
    for _, entry in ipairs(difference) do
        local entries = by_request[entry[1]] or {}
        for i = 2, #entry do
            entries[#entries + 1] = { part = entry[i], difference = difference, of = entry }
        end
        by_request[entry[1]] = entries
    end
end

-- True if a known difference covers a part: the part itself, or one that the part is inside of.
local function covers(pattern, where)
    local next_byte = where:sub(#pattern + 1, #pattern + 1)
    return where == pattern or where:sub(1, #pattern) == pattern and next_byte:match("[.%[]")
end

local function note(whys, difference)
    if not whys[difference] then
        whys[difference] = true
        whys[#whys + 1] = difference.what
    end
    difference.seen = true
    return true
end

-- True if a part may differ in this answer.
local function may_differ(where, entries, whys)
    local found = false
    for _, difference in ipairs(anywhere) do
        found = where:match(difference.anywhere) and note(whys, difference) or found
    end
    for _, entry in ipairs(entries) do
        if covers(entry.part, where) then
            entry.seen = true
            found = note(whys, entry.difference)
        end
    end
    return found
end

---Parts that differ unexpectedly, names of parts that no longer differ, and the subjects of the
---other differences (nil if there are none).
---@param parts { where: string, what: string }[]
function known.judge(name, parts)
    local entries = by_request[name] or {}
    local unexpected, vanished, whys = {}, {}, {}
    asked[name] = true
    for _, part in ipairs(parts) do
        if not may_differ(part.where, entries, whys) then
            unexpected[#unexpected + 1] = part
        end
    end
    for _, entry in ipairs(entries) do
        if not entry.seen then
            vanished[#vanished + 1] = entry.part
            entry.of.vanished = entry.of.vanished or {}
            entry.of.vanished[entry.part] = true
        end
    end
    return unexpected, vanished, whys[1] and table.concat(whys, "; ")
end

---After all were asked: requests that there are not, and what differed nowhere.
function known.unasked()
    local names = {}
    for _, difference in ipairs(anywhere) do
        if not difference.seen then
            names[#names + 1] = difference.anywhere
        end
    end
    for name in pairs(by_request) do
        if not asked[name] then
            names[#names + 1] = name
        end
    end
    table.sort(names)
    return names
end

local function quoted(text)
    return '"' .. text:gsub('[\\"]', "\\%0") .. '"'
end

-- One entry, on as many lines as it needs.
local function write_entry(file, entry)
    local words = {}
    for i, word in ipairs(entry) do
        words[i] = quoted(word)
    end
    local line = "        { " .. table.concat(words, ", ") .. " },\n"
    if #line > 100 then
        line = "        {\n            " .. table.concat(words, ",\n            ")
            .. ",\n        },\n"
    end
    file:write(line)
end

local function write_difference(file, difference)
    file:write("    {\n")
    for _, key in ipairs { "what", "why", "anywhere" } do
        if difference[key] then
            file:write("        ", key, " = ", quoted(difference[key]), ",\n")
        end
    end
    for _, entry in ipairs(difference) do
        write_entry(file, entry)
    end
    file:write("    },\n")
end

-- The comment on top of the file: the lines before its table.
local function read_head()
    local lines = {}
    for line in io.lines(FILE) do
        if line:sub(1, 2) ~= "--" then
            break
        end
        lines[#lines + 1] = line .. "\n"
    end
    return table.concat(lines)
end

local function forget_parts(difference)
    for i = #difference, 1, -1 do
        local entry = difference[i]
        for j = #entry, 2, -1 do
            if not asked[entry[1]] or entry.vanished and entry.vanished[entry[j]] then
                table.remove(entry, j)
            end
        end
        if #entry == 1 then
            table.remove(difference, i)
        end
    end
end

---Takes what has vanished out of the file.
function known.forget()
    local head = read_head()
    local file = assert(io.open(FILE, "w"))
    file:write(head, "return {\n")
    for _, difference in ipairs(known.all) do
        forget_parts(difference)
        if difference.anywhere or #difference > 0 then
            write_difference(file, difference)
        end
    end
    file:write("}\n")
    file:close()
end

return known
