-- What an Ingress changes in its backend's answers: how Location and Refresh begin, and the path
-- and the domain of cookies (proxy-redirect-*, proxy-cookie-*). Pure.
local answers = {}

---@class resty.kubelua.gateway.AnswerChange
---@field kind "redirect"|"cookie_path"|"cookie_domain"
---@field from string
---@field to string

local PATH, DOMAIN = "(;%s*[Pp][Aa][Tt][Hh]%s*=%s*)([^;]*)",
    "(;%s*[Dd][Oo][Mm][Aa][Ii][Nn]%s*=%s*)([^;]*)"

-- The text with another beginning; nil: it begins otherwise.
local function replace_start(text, change)
    if text:sub(1, #change.from) == change.from then
        return change.to .. text:sub(#change.from + 1)
    end
end

local function without_dot(domain)
    return (domain:lower():gsub("^%.", ""):gsub("%s+$", ""))
end

local VALUE = {}

VALUE.cookie_path = replace_start

function VALUE.cookie_domain(domain, change)
    return without_dot(domain) == without_dot(change.from) and change.to or nil
end

local function change_cookies(change, read, write)
    local lines, changed = read("Set-Cookie"), {}
    local pattern = change.kind == "cookie_path" and PATH or DOMAIN
    for i, line in ipairs(type(lines) == "table" and lines or { lines }) do
        changed[i] = line:gsub(pattern, function(name, value)
            local other = VALUE[change.kind](value, change)
            return other and name .. other
        end)
    end
    if changed[1] then
        write("Set-Cookie", changed)
    end
end

local function change_redirects(change, read, write)
    local location, refresh = read("Location"), read("Refresh")
    local other = type(location) == "string" and replace_start(location, change)
    if other then
        write("Location", other)
    end
    local before, url = (type(refresh) == "string" and refresh or ""):match(
        "^(.-[Uu][Rr][Ll]=)(.*)$")
    other = url and replace_start(url, change)
    if other then
        write("Refresh", before .. other)
    end
end

---@param list resty.kubelua.gateway.AnswerChange[]
---@param read fun(name: string): string|string[]|nil
---@param write fun(name: string, value: string|string[])
function answers.change(list, read, write)
    for _, change in ipairs(list) do
        local function_of = change.kind == "redirect" and change_redirects or change_cookies
        function_of(change, read, write)
    end
end

return answers
