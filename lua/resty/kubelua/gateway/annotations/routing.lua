-- Annotations that say where a request goes: rewrites, redirects, aliases, canaries.
local pattern = require "resty.kubelua.gateway.pattern"

---@class kubelua.gateway.Canary
---@field header string?
---@field value string?
---@field pattern string? a PCRE
---@field cookie string?
---@field weight integer
---@field total integer
---@field sticky boolean

-- What ingress-nginx lets into paths and patterns.
local PATH = "^/?[%w%-%._~/:%$]*$"
local PATTERN = "^[%w/%-%._~:%^%$%[%]%(%){}%*%+%?|&=\\]*$"
local URL = "^https?://[^%s%c\"]+$"
local NAME = "^[%w%-_]+$"
local MOST_ALIASES = 100 -- each has all paths of the host

local function read_redirect(reader, parsed)
    local name = reader:text("temporal-redirect") and "temporal-redirect" or "permanent-redirect"
    if not reader:text(name) then
        return
    end
    local most = name == "temporal-redirect" and 307 or 308
    local status = reader:number(name .. "-code", 300, most)
        or name == "temporal-redirect" and 302 or 301
    local location = reader:like(name, URL, "a URL with http:// or https://")
        and reader:template(name)
    parsed.redirect = location and { type = "redirect", location = location, status = status }
        or nil
end

local function read_rewrite(reader, parsed)
    parsed.use_regex = reader:flag("use-regex") or false
    parsed.rewrite_target = reader:like("rewrite-target", PATH,
        "a path such as /$1 (letters, digits and -._~/:$)")
    parsed.settings.app_root = reader:like("app-root", "^/[%w%-%._~/:]*$",
        "a path that begins with /")
    local prefix = reader:like("x-forwarded-prefix", "^/?[%w%-%._~/:]*$", "a path")
    if prefix then
        parsed.filters[#parsed.filters + 1] = { type = "request_headers",
            set = { { "X-Forwarded-Prefix", prefix } } }
        if not parsed.rewrite_target then
            reader:add("differs", "x-forwarded-prefix", "is sent; ingress-nginx sends it only "
                .. "together with rewrite-target")
        end
    end
end

local function read_https(reader, parsed)
    local settings = parsed.settings
    local redirect, forced = reader:flag("ssl-redirect"), reader:flag("force-ssl-redirect")
    parsed.ssl_redirect = forced and "always" or redirect ~= false and "tls" or nil
    settings.preserve_trailing_slash = reader:flag("preserve-trailing-slash") or nil
end

local function read_aliases(reader, parsed)
    local aliases, count = {}, 0
    local text = reader:text("server-alias") or ""
    for name in (text .. ","):gmatch("%s*(.-)%s*,") do
        if name:sub(1, 1) == "~" then
            reader:add("unsupported", "server-alias", ("%s is a regular expression, and gets no "
                .. "requests; list the hosts"):format(name))
        elseif name:find("^%*?%.?[%w%-%.]+$") and not name:find("..", 1, true) then
            aliases[#aliases + 1] = #aliases < MOST_ALIASES and name:lower() or nil
            count = count + 1
        elseif name ~= "" then
            reader:wrong("server-alias", "a list of host names")
        end
    end
    if count > MOST_ALIASES then
        reader:add("differs", "server-alias", ("has %d names: the first %d get requests"):format(
            count, MOST_ALIASES))
    end
    parsed.aliases = aliases
    parsed.www_redirect = reader:flag("from-to-www-redirect") or false
end

local function read_weight(reader)
    local total = reader:number("canary-weight-total", 1, 1000000) or 100
    if total < 100 then
        reader:add("differs", "canary-weight-total", "below 100 it counts as 100, as in "
            .. "ingress-nginx")
        total = 100
    end
    return reader:number("canary-weight", 0, total) or 0, total
end

local CANARY = { "canary-weight", "canary-by-header", "canary-by-header-value",
    "canary-by-header-pattern", "canary-by-cookie" }

local function read_canary(reader, parsed)
    if not reader:flag("canary") then
        for _, name in ipairs(CANARY) do
            if reader:text(name) then
                reader:add("wrong", name, "has no effect without canary: \"true\", as in "
                    .. "ingress-nginx")
            end
        end
        return
    end
    local weight, total = read_weight(reader)
    local canary = { weight = weight, total = total,
        header = reader:like("canary-by-header", NAME, "the name of a header"),
        value = reader:like("canary-by-header-value", "^[%w%-%._~/: ]*$", "a value of a header"),
        cookie = reader:like("canary-by-cookie", NAME, "the name of a cookie"),
        sticky = reader:choice("affinity-canary-behavior", "sticky legacy") ~= "legacy" }
    if not canary.value then
        canary.pattern = reader:like("canary-by-header-pattern", PATTERN, "a regular expression")
        if canary.pattern and pattern.refusal(canary.pattern) then
            canary.pattern = reader:wrong("canary-by-header-pattern",
                "a regular expression without callouts, and with at most 200 groups")
        end
    end
    if not canary.header and (canary.value or canary.pattern) then
        reader:add("wrong", canary.value and "canary-by-header-value"
            or "canary-by-header-pattern", "has no effect without canary-by-header")
        canary.value, canary.pattern = nil, nil
    end
    parsed.canary = canary
end

---@param reader kubelua.gateway.AnnotationReader
---@param parsed kubelua.gateway.ParsedAnnotations
return function(reader, parsed)
    read_redirect(reader, parsed)
    read_rewrite(reader, parsed)
    read_https(reader, parsed)
    read_aliases(reader, parsed)
    read_canary(reader, parsed)
end
