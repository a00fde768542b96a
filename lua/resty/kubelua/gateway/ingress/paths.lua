-- The paths of Ingresses as matches. If one path of a host is a regular expression, all are, as in
-- ingress-nginx: without regard to case, and anchored only at their beginning.
local pattern = require "resty.kubelua.gateway.pattern"

local paths = {}

local LONGEST = 2048

-- Where a character class ends that begins at `at`; nil if it does not end.
local function skip_class(text, at)
    local from = at + 1
    if text:sub(from, from) == "^" then
        from = from + 1
    end
    if text:sub(from, from) == "]" then
        from = from + 1 -- the first one is a character
    end
    while from <= #text do
        local char = text:sub(from, from)
        if char == "]" then
            return from
        end
        local name = char == "[" and text:match("^%[:%^?%l+:%]", from)
        from = from + (name and #name or char == "\\" and 2 or 1)
    end
end

---Looks at a regular expression without running it: unbalanced brackets, and a sign of repetition
---with nothing before it. nil, message: it cannot be one.
---@param text string
---@return integer? groups that are captured
---@return string? message
function paths.check_regex(text)
    local refusal = pattern.refusal(text)
    if refusal then
        return nil, refusal
    end
    local groups, depth, at, last = 0, 0, 1, "start"
    while at <= #text do
        local char = text:sub(at, at)
        local kind = "one"
        if char == "\\" then
            if at == #text then
                return nil, "ends in a backslash"
            end
            at = at + 1
        elseif char == "[" then
            at = skip_class(text, at)
            if not at then
                return nil, "has a [ without ]"
            end
        elseif char == "(" then
            local special = text:match("^%(%?P?[<'%w]", at) or text:match("^%([%?%*]", at)
            groups = groups + ((not special or special:find("[<']$")
                and not text:find("^%(%?<[=!]", at)) and 1 or 0)
            depth, kind = depth + 1, special and "special" or "start"
            at = at + (special and 1 or 0)
        elseif char == ")" then
            depth = depth - 1
            if depth < 0 then
                return nil, "has a ) without ("
            end
        elseif char:find("[%*%+%?]") then
            if last == "start" then
                return nil, ("has a %s with nothing before it"):format(char)
            end
        elseif char == "|" then
            kind = "start"
        end
        last, at = kind, at + 1
    end
    if depth > 0 then
        return nil, "has a ( without )"
    end
    return groups
end

---The number of the highest group that a target names: 2 for "/$2".
---@param target string
---@return integer
function paths.highest_group(target)
    local highest = 0
    for digit in target:gmatch("%$(%d)") do
        highest = math.max(highest, tonumber(digit))
    end
    return highest
end

---@param path string
---@return string
function paths.without_slash(path)
    local short = path:gsub("/+$", "")
    return short == "" and "/" or short
end

---Checks a path of the API. nil, message: it cannot be served.
---@param path any
---@param path_type any
---@return string? path, string? message
function paths.read(path, path_type)
    if path_type ~= "Exact" and path_type ~= "Prefix" and path_type ~= "ImplementationSpecific" then
        return nil, ("pathType %s is none of Exact, Prefix, ImplementationSpecific")
            :format(tostring(path_type))
    elseif path == nil and path_type == "ImplementationSpecific" or path == "" then
        return "/"
    elseif type(path) ~= "string" or path:sub(1, 1) ~= "/" then
        return nil, ("the path %s does not begin with /"):format(tostring(path))
    elseif #path > LONGEST then
        return nil, ("a path is longer than %d bytes"):format(LONGEST)
    elseif path:find("%c") then
        return nil, "a path has a control character"
    end
    return path
end

---The match of a path.
---@param path string
---@param path_type string
---@param is_regex boolean a path of the host is a regular expression
---@param rule integer
---@return table
function paths.match(path, path_type, is_regex, rule)
    if is_regex then
        return { kind = "regex", path = pattern.beginning(path), rule = rule }
    elseif path_type == "Exact" then
        return { kind = "exact", path = path, rule = rule }
    end
    return { kind = "prefix", path = paths.without_slash(path), rule = rule }
end

return paths
