-- Makes PCRE count the steps of a tenant's pattern. Its compiler to machine code (JIT) counts a
-- step where a repeat has found its text, for LIMIT_MATCH. It does not count a try of a group, nor
-- a repeat that finds nothing, each of which may look at the whole text: (?:(?=.*b)|.)* took 1.2 s
-- for 8,000 bytes, and LIMIT_MATCH=500 changed nothing (PCRE 8.39). So each group and alternative
-- gets a repeat of nothing, which always fits and is counted. Then a search takes at most the limit
-- times the length of the text, at 0.7 ns; with \p{L}, the slowest, at 1 ns. Pure Lua.
local counted = {}

local MARK = "(?=\\x00?+)"
local MOST_MARKS = 1000 -- the JIT gives up at some 3,000 groups

-- What begins a group, up to its first alternative.
local BEGINNINGS = { "^%(%?[:|>=!]", "^%(%?<[=!]", "^%(%?P?<[%a_][%w_]*>", "^%(%?'[%a_][%w_]*'",
    "^%(%?[imsUJ-]*:" }
-- What has a "(" and is no group.
local OTHERS = { "^%(%?[imsUJ-]*%)", "^%(%?#[^)]*%)", "^%(%?P=[%w_]+%)" }

local function first_end(patterns, text, at)
    for i = 1, #patterns do
        local _, to = text:find(patterns[i], at)
        if to then
            return to
        end
    end
end

-- The place of the "]" of a class.
local function end_of_class(text, at)
    at = at + (text:sub(at + 1, at + 1) == "^" and 2 or 1)
    if text:sub(at, at) == "]" then
        at = at + 1
    end
    while at <= #text and text:sub(at, at) ~= "]" do
        local _, named = text:find("^%[:%^?%l+:%]", at)
        at = named and named + 1 or at + (text:sub(at, at) == "\\" and 2 or 1)
    end
    return at
end

-- A piece of the text that is copied as it is. nil, message: it is refused.
local function next_piece(text, at)
    local char = text:sub(at, at)
    if char == "[" then
        return end_of_class(text, at)
    elseif char ~= "\\" then
        return at
    elseif text:find("^\\[QEcX]", at) or text:find("^\\g['<]", at) then
        return nil, ("has %s, which cannot be bounded"):format(text:sub(at, at + 1))
    end
    return at + 1
end

-- nil, message: the group is refused.
local function next_group(text, at)
    local to = text:find("^%([?*]", at) and first_end(BEGINNINGS, text, at)
        or not text:find("^%([?*]", at) and at
    if to then
        return to, MARK
    end
    to = first_end(OTHERS, text, at)
    if to then
        return to, ""
    end
    return nil, ("has %s, which cannot be bounded"):format(text:match("^%([^)]?[^)]?[^)]?", at))
end

-- Puts a mark into each group and alternative. Returns the text, and if it has an alternative
-- outside of all groups; nil and why it cannot be counted.
local function mark(text)
    local pieces, at, depth, marks, is_open = {}, 1, 0, 0, false
    while at <= #text do
        local char = text:sub(at, at)
        local to, more
        if char == "(" then
            to, more = next_group(text, at)
        else
            to, more = next_piece(text, at)
        end
        if not to then
            return nil, more
        end
        local is_group = char == "(" and text:sub(to, to) ~= ")"
        depth = depth + (is_group and 1 or char == ")" and -1 or 0)
        is_open = is_open or char == "|" and depth <= 0
        more = char == "|" and MARK or more
        marks = marks + ((more or "") ~= "" and 1 or 0)
        pieces[#pieces + 1] = text:sub(at, to) .. (more or "")
        at = to + 1
    end
    if marks > MOST_MARKS then
        return nil, ("has more than %d groups and alternatives"):format(MOST_MARKS)
    end
    return table.concat(pieces), is_open
end

---The pattern whose steps are counted. PCRE counts anew from each place where a search may begin:
---so one that is not tied to the beginning is tied there by a repeat.
---@param text string
---@return string?
---@return string? message nil: why it cannot be counted
function counted.pattern(text)
    local settings = text:match("^%(%?[imsUJ-]*%)") or ""
    local marked, is_open = mark(text:sub(#settings + 1))
    if not marked then
        return nil, is_open --[[@as string]]
    elseif not is_open and marked:sub(1, 1) == "^" then
        return settings .. marked
    end
    return settings .. "^(?s:.*?)(?:" .. MARK .. marked .. ")"
end

return counted
