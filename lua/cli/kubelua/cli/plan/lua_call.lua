-- Reads the calls in the tokens of a Lua script (lua_source.lua): where their arguments begin and
-- end, and which names of objects are written in them.
local lua_call = {}

---@param token kubelua.LuaToken?
---@param value string
---@return boolean
function lua_call.is_symbol(token, value)
    return token ~= nil and token.type == "symbol" and token.value == value
end

local is_symbol = lua_call.is_symbol

---True if the token at `i` begins the arguments of a call.
---@param tokens kubelua.LuaToken[]
---@param i integer
---@return boolean
function lua_call.begins(tokens, i)
    local token, before = tokens[i], tokens[i - 1]
    if not token or not before
        or not (token.type == "string" or is_symbol(token, "(") or is_symbol(token, "{"))
        or is_symbol(tokens[i - 2], "function") or is_symbol(tokens[i - 2], "goto") then
        return false
    end
    return before.type == "name" or is_symbol(before, ")") or is_symbol(before, "]")
end

local OPENS, CLOSES = {}, {}
for word in ("( { [ function if do repeat"):gmatch("%S+") do
    OPENS[word] = true
end
for word in (") } ] end until"):gmatch("%S+") do
    CLOSES[word] = true
end

-- Where what begins at `i` ends: a bracket, a function, or one token.
local function find_close(tokens, i)
    local depth = 0
    for at = i, #tokens do
        local token = tokens[at]
        if token.type == "symbol" and OPENS[token.value] then
            depth = depth + 1
        elseif token.type == "symbol" and CLOSES[token.value] then
            depth = depth - 1
        end
        if depth <= 0 then
            return at
        end
    end
    return #tokens
end

-- What stands between commas in the bracket that begins at `i`.
local function list_parts(tokens, i)
    local parts, last = {}, find_close(tokens, i)
    local at, first = i + 1, i + 1
    while at <= last do
        local is_end = at == last
        if is_end or is_symbol(tokens[at], ",") or is_symbol(tokens[at], ";") then
            if at > first then
                parts[#parts + 1] = { first = first, last = at - 1 }
            end
            first = at + 1
        end
        at = is_end and at + 1 or find_close(tokens, at) + 1
    end
    return parts
end

---@class kubelua.LuaPart where a part of the text begins and ends: numbers of tokens
---@field first integer
---@field last integer

---The arguments of the call whose arguments begin at the token `i`.
---@param tokens kubelua.LuaToken[]
---@param i integer
---@return kubelua.LuaPart[]
function lua_call.arguments(tokens, i)
    if is_symbol(tokens[i], "(") then
        return list_parts(tokens, i)
    end
    return { { first = i, last = find_close(tokens, i) } }
end

-- The string that is all of a part; nil: it is something else.
local function string_of(tokens, part)
    local token = part.first == part.last and tokens[part.first] or nil
    return token and token.type == "string" and token.value or nil
end

local function is_table(tokens, part)
    return is_symbol(tokens[part.first], "{") and find_close(tokens, part.first) == part.last
end

-- The value of a field of the table; nil: it has none of that name.
local function find_field(tokens, part, name)
    for _, each in ipairs(is_table(tokens, part) and list_parts(tokens, part.first) or {}) do
        if tokens[each.first].type == "name" and tokens[each.first].value == name
            and is_symbol(tokens[each.first + 1], "=") then
            return { first = each.first + 2, last = each.last }
        end
    end
end

-- The first argument of these is the key of a pod; the second one of others is a key.
local KEY_FIRST = { evict = true, logs = true }

-- What a key or a table writes of an object: a text; false: it leaves the field out; nil: unknown.
local function read_argument(tokens, part, field, is_key)
    local text = string_of(tokens, part)
    if text then
        local namespace, name = text:match("^([^/]+)/([^/]+)$")
        if not is_key then
            return false
        elseif field == "name" then
            return name or text
        end
        return namespace or false
    elseif not is_table(tokens, part) then
        return nil
    end
    local metadata = find_field(tokens, part, "metadata")
    local value = metadata and find_field(tokens, metadata, field)
        or field == "namespace" and find_field(tokens, part, field) or nil
    if value then
        return string_of(tokens, value)
    elseif metadata and not is_table(tokens, metadata) then
        return nil
    end
    return false
end

---What a call writes as the name or the namespace of its object: a text; false: it names none; nil:
---it is computed, or cannot be told.
---@param tokens kubelua.LuaToken[]
---@param i integer where its arguments begin
---@param method string
---@param field "name"|"namespace"
---@return string|false|nil
function lua_call.written(tokens, i, method, field)
    local found = false
    for n, part in ipairs(lua_call.arguments(tokens, i)) do
        local is_key = n == (KEY_FIRST[method] and 1 or 2)
        local value = read_argument(tokens, part, field, is_key)
        if value == nil and (is_key or n == 1) then
            return nil
        end
        found = found or value or false
    end
    return found
end

return lua_call
