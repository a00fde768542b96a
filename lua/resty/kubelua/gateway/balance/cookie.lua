-- The Set-Cookie header of a session. Pure.
local cookie = {}

local DEFAULT = {}

---@param settings resty.kubelua.gateway.SessionCookie?
---@param value string what a pick gave
---@param is_https boolean? the request came by TLS
---@return string
function cookie.text(settings, value, is_https)
    settings = settings or DEFAULT
    local parts = { (settings.name or "kubelua") .. "=" .. value }
    parts[2] = "Path=" .. (settings.path or "/")
    if settings.domain then
        parts[#parts + 1] = "Domain=" .. settings.domain
    end
    if settings.max_age then
        parts[#parts + 1] = string.format("Max-Age=%d", settings.max_age)
    end
    local same_site = settings.same_site
    -- browsers refuse SameSite=None without Secure, and then there is no session
    if settings.secure or is_https and (settings.secure == nil or same_site == "None") then
        parts[#parts + 1] = "Secure"
    end
    parts[#parts + 1] = "HttpOnly"
    if same_site and (same_site ~= "None" or settings.secure or is_https) then
        parts[#parts + 1] = "SameSite=" .. same_site
    end
    return table.concat(parts, "; ")
end

return cookie
