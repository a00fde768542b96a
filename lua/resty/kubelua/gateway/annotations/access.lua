-- Annotations that guard a path: allow and deny lists, basic and external authentication, limits.
-- If one is wrong the path is denied (503), never served unguarded, as by ingress-nginx.
local framing = require "resty.kubelua.gateway.framing"

-- Denies the paths of the object because of an annotation.
local function deny(reader, parsed, name, message)
    parsed.settings.denied = name .. ": " .. message
    reader:add("wrong", name, message .. "; the paths are denied (503)")
end

local function read_ranges(reader, parsed)
    local settings = parsed.settings
    local allowed = reader:text("allowlist-source-range") and "allowlist-source-range"
        or "whitelist-source-range"
    for name, field in pairs { [allowed] = "allow", ["denylist-source-range"] = "deny" } do
        local ranges, message = reader:ranges(name)
        if not ranges and field == "allow" and reader.values[name] then
            message = message or "is empty, which allows nobody"
        end
        if message then
            deny(reader, parsed, name, message)
        end
        settings[field] = ranges
    end
end

local function read_basic(reader, parsed)
    local kind = reader:text("auth-type")
    if not kind then
        if reader:text("auth-secret") then
            reader:add("wrong", "auth-secret", "has no effect without auth-type: basic")
        end
        return
    elseif kind ~= "basic" then
        return deny(reader, parsed, "auth-type", kind == "digest"
            and "digest is not supported; use basic, with TLS" or "must be \"basic\"")
    end
    local namespace, name = (reader:text("auth-secret") or ""):match("^([^/]*)/([^/]+)$")
    name = name or reader:text("auth-secret")
    local format = reader:text("auth-secret-type") or "auth-file"
    if not name or not name:find("^[%w%-%.]+$") then
        return deny(reader, parsed, "auth-secret", "must be the name of a Secret")
    elseif namespace and namespace ~= "" and namespace ~= reader.namespace then
        return deny(reader, parsed, "auth-secret",
            "the Secret must be in the namespace of the Ingress")
    elseif format ~= "auth-file" and format ~= "auth-map" then
        return deny(reader, parsed, "auth-secret-type", "must be \"auth-file\" or \"auth-map\"")
    end
    parsed.settings.basic_auth = { secret = reader.namespace .. "/" .. name,
        map = format == "auth-map" or nil,
        realm = reader:like("auth-realm", "^[%w%-%._~/: ]*$", "a text of letters, digits and "
            .. "blanks, without quotes") or "Authentication required" }
end

local METHODS = "GET HEAD POST PUT PATCH DELETE CONNECT OPTIONS TRACE"

-- The page to log in, with the URL to come back to.
local function read_sign_in(reader)
    local page = reader:text("auth-signin")
    local param = reader:like("auth-signin-redirect-param", "^[%w%-%._~]+$", "a word") or "rd"
    local parts = page and reader:template("auth-signin")
    if not parts or page:find("[?&]" .. param:gsub("%p", "%%%0") .. "=") then
        return parts
    end
    local back = { (page:find("?", 1, true) and "&" or "?") .. param .. "=", { var = "scheme" },
        "://", { var = "http_host" }, { var = "request_uri", escape = true } }
    for _, part in ipairs(back) do
        parts[#parts + 1] = part
    end
    return parts
end

-- True if the request says which host is asked: a variable but $host before the path.
local function is_led_by_client(parts)
    local before = ""
    for _, part in ipairs(parts) do
        if type(part) == "string" then
            before = before .. part
        elseif not before:find("^https?://[^/?#]*[/?#]") and part.var ~= "host" then
            return true
        else
            before = before .. "x"
        end
    end
    return false
end

-- True if one of the headers would change where the request ends, or what host it is for.
local function names_framing(reader, headers)
    for _, name in ipairs(headers) do
        if framing[name:lower()] or name:lower() == "host" then
            reader:add("wrong", "auth-response-headers", ("the header %s cannot be changed; the "
                .. "paths are denied (503)"):format(name))
            return true
        end
    end
    return false
end

local function read_external(reader, parsed)
    local url = reader:text("auth-url")
    if not url then
        return
    elseif not url:find("^https?://[%w%-%._~:%[%]%${}]+") then
        return deny(reader, parsed, "auth-url", "must be a URL with http:// or https://")
    end
    local parts = reader:template("auth-url", "the paths are denied (503)")
    if parts and is_led_by_client(parts) then
        return deny(reader, parsed, "auth-url", "the host may have no variable but $host: the "
            .. "client would choose the service")
    end
    local headers, failed = nil, not parts
    if reader:text("auth-response-headers") then
        headers = reader:list("auth-response-headers", "^[%w%-_]+$", "a list of headers")
        failed = failed or not headers or names_framing(reader, headers)
    end
    local method = reader:choice("auth-method", METHODS)
    if reader:text("auth-method") and not method or failed then
        parsed.settings.denied = "auth-url: an annotation of it is wrong"
        return
    end
    parsed.settings.auth_request = { url = parts, method = method or "GET",
        response_headers = headers, signin = read_sign_in(reader),
        always_set_cookie = reader:flag("auth-always-set-cookie") or nil,
        request_redirect = reader:like("auth-request-redirect", "^[^%s%c]+$", "a URL")
            and reader:template("auth-request-redirect") }
end

local function read_rates(reader, parsed)
    local limits = { rps = reader:number("limit-rps", 0, 1000000),
        rpm = reader:number("limit-rpm", 0, 1000000),
        connections = reader:number("limit-connections", 0, 65535) }
    for _, name in ipairs { "rps", "rpm", "connections" } do
        limits[name] = limits[name] ~= 0 and limits[name] or nil
    end
    local allowed = reader:text("limit-allowlist") and "limit-allowlist" or "limit-whitelist"
    local ranges, message = reader:ranges(allowed)
    if message then
        reader:add("wrong", allowed, message .. "; nobody is excluded from the limits")
    end
    local rate = reader:number("limit-rate", 0, 1000000)
    if rate and rate > 0 then
        parsed.settings.rate = { bytes = rate * 1024,
            after = (reader:number("limit-rate-after", 0, 1000000) or 0) * 1024 }
    end
    if next(limits) then
        limits.burst_multiplier = reader:number("limit-burst-multiplier", 1, 1000) or 5
        limits.allow = ranges
        parsed.settings.limits = limits
    end
end

---@param reader kubelua.gateway.AnnotationReader
---@param parsed kubelua.gateway.ParsedAnnotations
return function(reader, parsed)
    read_ranges(reader, parsed)
    read_basic(reader, parsed)
    read_external(reader, parsed)
    read_rates(reader, parsed)
    parsed.settings.satisfy_any = reader:choice("satisfy", "all any") == "any" or nil
    if reader:text("auth-tls-secret") and reader:text("auth-tls-verify-client") ~= "off" then
        parsed.settings.denied = "auth-tls-secret: client certificates are not supported"
    end
end
