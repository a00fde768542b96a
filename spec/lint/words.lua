-- Counts words that make comments hard to read, and names of static functions that a backtrace and
-- a grep cannot tell apart (docs/STYLE.md). Fails where a count is above its limit. Usage, in the
-- root of the tree: lua5.4 spec/lint/words.lua; with --list, each place too.
package.path = (arg and arg[0] or ""):gsub("[^/]*$", "") .. "?.lua;spec/lint/?.lua;" .. package.path
local comments = require "comments"
local tree = require "tree"

local words = {}

-- The limits only go down.
words.LIMITS = {
    whether = 0, -- comments that begin with "Whether"
    persons = 0, -- who, whoever, whom, nobody, somebody in comments
    names = 0,   -- names of static functions in more files than FILES_OF_A_NAME
}
local FILES_OF_A_NAME = 3

local PERSONS = { who = true, whoever = true, whom = true, nobody = true, somebody = true }

-- Where comments are read by strangers first.
local FOLDERS = { "core/", "lua/", "sim/core/", "sim/lua/", "sim/tools/", "sim/spec/support/",
    "spec/support/", "scripts/" }

local function is_read(path)
    for _, folder in ipairs(FOLDERS) do
        if path:sub(1, #folder) == folder then
            return not path:find("%.md$")
        end
    end
    return false
end

-- Without what an annotation of LuaCATS says before its words: "@field name type".
local function first_word(text)
    return text:gsub("^%s*@%w+%s+%S+%s+%S+", ""):match("^[%s*-]*(%a+)")
end

local function add_comment(found, path, comment)
    if first_word(comment.text) == "Whether" or first_word(comment.text) == "whether" then
        table.insert(found.whether, path .. ":" .. comment.line)
    end
    local line = comment.line
    for text in (comment.text .. "\n"):gmatch("([^\n]*)\n") do
        for word in text:gmatch("%a+") do
            if PERSONS[word:lower()] then
                table.insert(found.persons, path .. ":" .. line .. ": " .. word)
            end
        end
        line = line + 1
    end
end

-- The static functions that a C file defines: the name may stand on a line of its own.
local function names_of(text)
    local names = {}
    for head in ("\n" .. text):gmatch("\nstatic ([^;{}=]-)\n{") do
        local name = head:match("([%w_]+)%s*%(")
        if name then
            names[name] = true
        end
    end
    return names
end

local function recurring(files_of)
    local list = {}
    for name, files in pairs(files_of) do
        if #files > FILES_OF_A_NAME then
            list[#list + 1] = string.format("%s in %d files: %s", name, #files,
                table.concat(files, " "))
        end
    end
    table.sort(list)
    return list
end

---The places of each thing that is counted.
---@param files lint.Tree
---@return { whether: string[], persons: string[], names: string[] }
function words.find(files)
    local found, files_of = { whether = {}, persons = {} }, {}
    for _, path in ipairs(files.paths) do
        local text = is_read(path) and files.read(path)
        for _, comment in ipairs(text and comments.of(path, text) or {}) do
            add_comment(found, path, comment)
        end
        if text and path:find("%.c$") and (path:find("^core/") or path:find("^sim/core/")) then
            for name in pairs(names_of(text)) do
                files_of[name] = files_of[name] or {}
                table.insert(files_of[name], path)
            end
        end
    end
    found.names = recurring(files_of)
    return found
end

local TITLES = {
    { "whether", 'comments that begin with "Whether"' },
    { "persons", "who, whoever, whom, nobody, somebody in comments" },
    { "names", "names of static functions in more than " .. FILES_OF_A_NAME .. " files" },
}

local function main(must_list)
    local found, is_good = words.find(tree.here()), true
    for _, each in ipairs(TITLES) do
        local name, title = each[1], each[2]
        local count, limit = #found[name], words.LIMITS[name]
        print(string.format("%4d %s (at most %d)%s", count, title, limit,
            count > limit and ": too many; --list shows them" or count < limit
            and "; lower the limit" or ""))
        is_good = is_good and count <= limit
        for _, place in ipairs(must_list and found[name] or {}) do
            print("     " .. place)
        end
    end
    return is_good
end

if arg and (arg[0] or ""):find("words%.lua$") then
    os.exit(main(arg[1] == "--list"))
end

return words
