-- Which differences are known (differences.lua), and whether that still is the truth.
local differences = require "differences"

local known = { all = differences.load() }

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

---Takes what has vanished out of the files.
function known.forget()
    for _, difference in ipairs(known.all) do
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
        differences.save(difference)
    end
end

return known
