-- Regular expressions of tenants, for PCRE. Its compiler to machine code (JIT) bounds the memory of
-- a search; without it, a search in a long path goes so deep that the worker crashes (PCRE 8.39 of
-- Debian 12, libnginx-mod-http-lua 0.10.23: (?:a|b|(c))*d in 16 KB). So what makes PCRE go without
-- it is refused, and so is what counted.lua cannot bound. Pure Lua.
local counted = require "resty.kubelua.gateway.counted"

local pattern = {}

local MOST_GROUPS = 200 -- 3,000 are too many for the JIT

---Why an expression is refused; nil: it is not.
---@param text string
---@return string?
function pattern.refusal(text)
    if text:find("(?C", 1, true) then
        return "has a callout (?C"
    end
    local _, count = text:gsub("%(", "")
    if count > MOST_GROUPS then
        return ("has more than %d groups"):format(MOST_GROUPS)
    end
    return select(2, counted.pattern(text))
end

---The expression that fits whole texts: also those with line breaks, which `.` and `$` would take
---for an end, so that a path with %0A would get past a rule.
---@param text string that is an expression by itself
---@return string
function pattern.whole(text)
    return "^(?s:" .. text .. ")\\z"
end

---The expression for paths that begin so, as ingress-nginx takes a path: case does not count.
---@param text string
---@return string
function pattern.beginning(text)
    return "(?is)^" .. text
end

---The text of an expression that `whole` has made; any other one is returned as it is.
---@param whole string
---@return string
function pattern.text(whole)
    return whole:match("^%^%(%?s:(.*)%)\\z$") or whole
end

return pattern
