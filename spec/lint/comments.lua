-- Finds the comments of a source file, for the lints that read them: citations.lua and words.lua.
local comments = {}

---A comment: one block in C, in Lua and the shell the lines that follow one another.
---@class lint.Comment
---@field line integer where it begins
---@field text string without the marks of comments; it has the line breaks of the file

local function lines_of(text)
    local lines = {}
    for line in (text .. "\n"):gmatch("([^\n]*)\n") do
        lines[#lines + 1] = line
    end
    return lines
end

-- Where the string or character constant that begins at `at` has its end.
local function after_quote(text, at)
    local quote = text:sub(at, at)
    local from = at + 1
    while true do
        local found = text:find("[\\\n" .. quote .. "]", from)
        if not found then
            return #text + 1
        elseif text:sub(found, found) == "\\" then
            from = found + 2
        else
            return found + 1
        end
    end
end

local function count_breaks(text)
    local _, count = text:gsub("\n", "")
    return count
end

local function of_c(text)
    local list, at, line = {}, 1, 1
    while true do
        local found = text:find("[\"'/]", at)
        if not found then
            return list
        end
        line = line + count_breaks(text:sub(at, found - 1))
        local mark, last = text:sub(found, found + 1), found
        if mark == "/*" then
            last = select(2, text:find("*/", found + 2, true)) or #text
            local inside = text:sub(found + 2, last - 2):gsub("\n%s*%*%s?", "\n"):gsub("^%*", "")
            list[#list + 1] = { line = line, text = inside }
        elseif mark == "//" then
            last = (text:find("\n", found, true) or #text + 1) - 1
            list[#list + 1] = { line = line, text = text:sub(found + 2, last) }
        elseif mark:sub(1, 1) ~= "/" then
            last = after_quote(text, found) - 1
        end
        line = line + count_breaks(text:sub(found, last))
        at = last + 1
    end
end

-- The comment of one line of Lua, if it has one; and true if code stands before it.
local function of_lua_line(line)
    local at = 1
    while true do
        local found = line:find("[\"'%-]", at)
        if not found then
            return nil
        elseif line:sub(found, found + 1) == "--" then
            return line:sub(found):gsub("^%-%-+", ""), line:sub(1, found - 1):find("%S") ~= nil
        end
        at = line:sub(found, found) == "-" and found + 1 or after_quote(line, found)
    end
end

-- The same of a script for the shell, of CMake or Python.
local function of_hash_line(line)
    local before, text = line:match("^(.-)#+(.*)$")
    if not before or before:find("[%w$\"'{\\]$") or text:find("^!") then
        return nil
    end
    return text, before:find("%S") ~= nil
end

-- Joins the comments of lines that follow one another.
local function of_lines(text, of_line)
    local list, open = {}, nil
    for number, line in ipairs(lines_of(text)) do
        local comment, is_behind_code = of_line(line)
        -- An annotation, "---@field name what it is", is a comment of its own.
        local begins = is_behind_code or (comment and comment:find("^%s*@"))
        if comment and open and not begins then
            open.text = open.text .. "\n" .. comment
        elseif comment then
            open = { line = number, text = comment }
            list[#list + 1] = open
        else
            open = nil
        end
        if begins then
            open = nil
        end
    end
    return list
end

---The comments of a file; of a document in Markdown, all of it. Empty for other files.
---@param path string
---@param text string
---@return lint.Comment[]
function comments.of(path, text)
    local name = path:match("[^/]+$")
    local extension = name:gsub("%.in$", ""):match("%.(%w+)$")
    if extension == "c" or extension == "h" then
        return of_c(text)
    elseif extension == "lua" then
        return of_lines(text, of_lua_line)
    elseif extension == "md" then
        return { { line = 1, text = text } }
    elseif extension == "sh" or extension == "py" or extension == "cmake" or extension == "yml"
        or name == "CMakeLists.txt" or text:find("^#!") or path:find("^scripts/") then
        return of_lines(text, of_hash_line)
    end
    return {}
end

return comments
