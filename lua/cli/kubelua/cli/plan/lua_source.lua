-- For kubelua plan: reads the text of a Lua script, and finds its strings, its functions and its
-- calls. Lua's debug library knows only functions that a run has made.

local lua_call = require "kubelua.cli.plan.lua_call"
local whole_file = require "kubelua.cli.whole_file"

---@class kubelua.LuaToken
---@field type "name"|"string"|"symbol"
---@field value string
---@field line integer

---@class kubelua.LuaFunction
---@field first integer the line of the word "function"
---@field last integer the line of its "end"
---@field calls boolean something is called in it

---@class kubelua.LuaSource
---@field tokens kubelua.LuaToken[]
---@field functions kubelua.LuaFunction[] the outer one before the inner ones
---@field lines table<integer, kubelua.LuaToken[]>
local Source = {}
Source.__index = Source

local source = {}

local is_symbol, is_call = lua_call.is_symbol, lua_call.begins

local KEYWORDS = {}
for word in ([[and break do else elseif end false for function goto if in local nil not or repeat
    return then true until while]]):gmatch("%a+") do
    KEYWORDS[word] = true
end

-- Where the long bracket that begins at `at` ends; nil: there is none.
local function find_long_end(text, at)
    local level = text:match("^%[(=*)%[", at)
    if not level then
        return nil
    end
    local _, last = text:find("]" .. level .. "]", at, true)
    return last or #text
end

local function find_string_end(text, at)
    local quote, i = text:sub(at, at), at + 1
    while i <= #text do
        local byte = text:sub(i, i)
        if byte == "\\" then
            i = i + 1
        elseif byte == quote or byte == "\n" then
            return i
        end
        i = i + 1
    end
    return #text
end

-- The value of a string as it is written: Lua itself reads it.
local function read_string(written)
    local chunk = (rawget(_G, "loadstring") or load)("return " .. written)
    local ok, value = pcall(chunk or error)
    return ok and type(value) == "string" and value or written
end

-- The token or the space that begins at `at`: where it ends, its type and its value.
local function read_token(text, at)
    local byte = text:sub(at, at)
    if byte:find("%s") then
        return select(2, text:find("^%s+", at))
    elseif text:find("^%-%-", at) then
        return find_long_end(text, at + 2) or (text:find("\n", at, true) or #text + 1) - 1
    elseif byte == "'" or byte == "\"" then
        local last = find_string_end(text, at)
        return last, "string", read_string(text:sub(at, last))
    elseif byte == "[" and find_long_end(text, at) then
        local last = find_long_end(text, at)
        return last, "string", read_string(text:sub(at, last))
    elseif byte:find("[%a_]") then
        local _, last, word = text:find("^([%w_]+)", at)
        return last, KEYWORDS[word] and "symbol" or "name", word
    elseif text:find("^%.?%d", at) then
        local _, last, number = text:find("^(%.?%d[%w.]*)", at)
        return last, "symbol", number
    end
    return at, "symbol", byte
end

local function read_tokens(text)
    local tokens, line = {}, 1
    local at = text:sub(1, 1) == "#" and text:find("\n", 1, true) or 1
    while at <= #text do
        local last, type, value = read_token(text, at)
        if type then
            tokens[#tokens + 1] = { type = type, value = value, line = line }
        end
        local _, breaks = text:sub(at, last):gsub("\n", "")
        line, at = line + breaks, last + 1
    end
    return tokens
end

local OPENS = { ["function"] = true, ["if"] = true, ["do"] = true, ["repeat"] = true }
local CLOSES = { ["end"] = true, ["until"] = true }

-- True if the "(" is that of a definition, `function a.b:c(`, and not of a call.
local function is_heading(tokens, i)
    local j = i - 1
    while tokens[j] and (tokens[j].type == "name" or is_symbol(tokens[j], ".")
        or is_symbol(tokens[j], ":")) do
        j = j - 1
    end
    return is_symbol(tokens[j], "function")
end

local function find_functions(tokens)
    local functions, blocks = {}, {}
    for i, token in ipairs(tokens) do
        if token.type == "symbol" and OPENS[token.value] then
            local block = {}
            if token.value == "function" then
                block = { first = token.line, calls = false }
                functions[#functions + 1] = block
            end
            blocks[#blocks + 1] = block
        elseif token.type == "symbol" and CLOSES[token.value] and #blocks > 0 then
            table.remove(blocks).last = token.line
        elseif is_call(tokens, i) and not is_heading(tokens, i) then
            for _, block in ipairs(blocks) do
                block.calls = true
            end
        end
    end
    return functions
end

---@param text string of a script that Lua can load
---@return kubelua.LuaSource
function source.read(text)
    local tokens, lines = read_tokens(text), {}
    for _, token in ipairs(tokens) do
        lines[token.line] = lines[token.line] or {}
        table.insert(lines[token.line], token)
    end
    return setmetatable({ tokens = tokens, functions = find_functions(tokens), lines = lines },
        Source)
end

---@param path string
---@return kubelua.LuaSource?, string?
function source.read_file(path)
    local text, message = whole_file.read(path)
    if not text then
        return nil, message
    end
    return source.read(text)
end

-- True if the string at `i` is one of several values: `x or "a"`, `x and "a" or "b"`. An argument
-- of the command is what it is: `arg[1] or "a"`.
local function is_alternative(tokens, i)
    local before = tokens[i - 1]
    return is_symbol(tokens[i + 1], "or") or is_symbol(before, "and") or is_symbol(before, "or")
        and not (is_symbol(tokens[i - 2], "]") and tokens[i - 5] and tokens[i - 5].value == "arg")
end

---True if a string of the script is this text, or a key that has it as its namespace or its name.
---@param text string
---@return boolean
function Source:has_string(text)
    for i, token in ipairs(self.tokens) do
        if token.type == "string" and source.names(token.value, text)
            and not is_alternative(self.tokens, i) then
            return true
        end
    end
    return false
end

---True if `text` is a string, or a part of the key "namespace/name" that it is.
---@param value string
---@param text string
---@return boolean
function source.names(value, text)
    local namespace, name = value:match("^([^/]+)/([^/]+)$")
    return value == text or namespace == text or name == text
end

---The innermost function around a line; nil: it is outside of all.
---@param line integer
---@return kubelua.LuaFunction?
function Source:function_at(line)
    local found
    for _, each in ipairs(self.functions) do
        if each.first <= line and line <= (each.last or math.huge) then
            found = each
        end
    end
    return found
end

-- Calls that send requests; `get` and `list` also read objects, and of a run the caches.
local VERBS = {}
for word in ([[create update apply patch scale delete delete_all evict logs wait request event
    status informer controller]]):gmatch("[%a_]+") do
    VERBS[word] = true
end
local READS = { get = true, list = true }

-- True for a call such as object:get("data.x"), which reads a field.
local function reads_field(tokens, i)
    local given = tokens[i].value == "get" and lua_call.arguments(tokens, i + 1)
    return given and #given == 1 and tokens[given[1].first].type == "string"
end

-- True if the `get` or `list` at the token `i` may send a request.
local function asks_to_read(tokens, i)
    return READS[tokens[i].value] and is_symbol(tokens[i - 1], ":")
        and tokens[i - 2].value ~= "run" and not reads_field(tokens, i)
end

-- The name of the method whose arguments begin behind the token `i`, if the call sends requests.
local function find_method(tokens, i)
    local token, dot = tokens[i], tokens[i - 1]
    if token.type == "name" and (is_symbol(dot, ":") or is_symbol(dot, "."))
        and is_call(tokens, i + 1)
        and (VERBS[token.value] or asks_to_read(tokens, i)) then
        return token.value
    end
end

---True if a call that sends requests is written in these lines.
---@param first integer
---@param last integer
---@return boolean
function Source:asks(first, last)
    for i, token in ipairs(self.tokens) do
        if token.line >= first and token.line <= last and find_method(self.tokens, i) then
            return true
        end
    end
    return false
end

local BRANCHES = { ["then"] = true, ["else"] = true, ["and"] = true, ["or"] = true }

---A call that its line may leave out.
---@class kubelua.LuaBranch
---@field line integer
---@field method string
---@field is_tail boolean behind a `return`, so Lua forgets its line

---The calls that send requests, behind a branch of their own line: `x and client:get(...)`.
---@return kubelua.LuaBranch[]
function Source:branches()
    local found, line, is_branch, is_tail = {}, 0, false, false
    for i, token in ipairs(self.tokens) do
        if token.line ~= line then
            line, is_branch, is_tail = token.line, false, false
        end
        local word = token.type == "symbol" and token.value
        is_branch, is_tail = is_branch or BRANCHES[word] or false, is_tail or word == "return"
        local method = is_branch and find_method(self.tokens, i)
        if method then
            found[#found + 1] = { line = line, method = method, is_tail = is_tail }
        end
    end
    return found
end

---What the only call of a method in a line writes as the name or the namespace of its object: a
---text; false: it names none; nil: it is computed, or there are more calls.
---@param line integer
---@param field "name"|"namespace"
---@return string|false|nil
function Source:written_at(line, field)
    local tokens, found = self.tokens, nil
    for i, token in ipairs(tokens) do
        local method = token.line == line and token.type == "name" and is_call(tokens, i + 1)
            and (VERBS[token.value] or READS[token.value]) and not reads_field(tokens, i)
        if method and found then
            return nil
        end
        found = method and i or found
    end
    if not found then
        return nil
    end
    return lua_call.written(tokens, found + 1, tokens[found].value, field)
end

---True if a line has nothing but the ends of blocks, tables and calls.
---@param line integer
---@return boolean
function Source:only_ends(line)
    for _, token in ipairs(self.lines[line] or {}) do
        if token.type ~= "symbol" or not token.value:find("^[%)}%],;]$") and token.value ~= "end"
            and token.value ~= "else" then
            return false
        end
    end
    return true
end

return source
