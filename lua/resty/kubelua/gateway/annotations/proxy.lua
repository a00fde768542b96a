-- Annotations about the connection to the backend: protocol, timeouts, sizes, and which endpoint.
local known = require "resty.kubelua.gateway.annotations.known"
local places = require "resty.kubelua.gateway.balance.places"

-- The words of backend-protocol, and of the contract. AUTO_HTTP takes the client's scheme.
local PROTOCOLS = { HTTPS = "https", GRPC = "grpc", GRPCS = "grpcs" }

local MOST_TRIES = 10 -- more than that one request could keep a worker and its log busy

-- Bytes of a body whose length is not said before that are limited: body_size.lua.
local MOST_UNKNOWN = 4 * 1024 * 1024 * 1024

local RETRIES = {}
for word in ("error timeout invalid_header http_500 http_502 http_503 http_504 http_403 http_404 "
    .. "http_429 non_idempotent off"):gmatch("%S+") do
    RETRIES[word] = true
end

local function read_protocol(reader, parsed)
    local protocol = reader:choice("backend-protocol", "HTTP HTTPS AUTO_HTTP GRPC GRPCS FCGI", true)
    if protocol == "FCGI" then
        reader:add("unsupported", "backend-protocol", "FastCGI is not spoken: the paths answer "
            .. "503; put an HTTP server before the application")
        parsed.settings.denied = "backend-protocol FCGI is not supported"
    elseif protocol == "AUTO_HTTP" then
        reader:add("differs", "backend-protocol", "AUTO_HTTP: HTTP is spoken also to clients of "
            .. "HTTPS; write HTTPS if the backend wants it")
    end
    parsed.protocol = PROTOCOLS[protocol]
    -- In ingress-nginx a name is sent only with proxy-ssl-server-name: "on".
    parsed.settings.tls_name = reader:like("proxy-ssl-name", "^[%w%-%.]+$", "a host name")
    if reader:choice("proxy-ssl-server-name", "on off") == "off" then
        reader:add("differs", "proxy-ssl-server-name", known.ALL["proxy-ssl-server-name"].text)
    end
    parsed.cluster_ip = reader:flag("service-upstream") or nil
    -- It may have variables; a line break or a quote is none of a name.
    parsed.upstream_vhost = reader:like("upstream-vhost", "^[%w%-%._~/:%${}%*]+;?$", "a host name")
    parsed.default_backend = reader:like("default-backend", "^[a-z0-9][a-z0-9%-]*$",
        "the name of a Service in the namespace of the Ingress")
end

local function read_limits(reader, parsed)
    local settings = parsed.settings
    settings.body_size = reader:size("proxy-body-size")
    local size, is_grpc = settings.body_size or 0, (parsed.protocol or ""):find "^grpc"
    if size > MOST_UNKNOWN or size > 0 and is_grpc then
        reader:add("differs", "proxy-body-size", known.ALL["proxy-body-size"].text)
    end
    for _, name in ipairs { "connect", "read", "send" } do
        settings[name .. "_timeout"] = reader:number("proxy-" .. name .. "-timeout", 1, 2147483,
            " of seconds")
    end
end

-- What proxy-next-upstream says, as F's balancers read it: `retry` of settings.balance.
local function read_retries(reader)
    local text = reader:text("proxy-next-upstream")
    local tries = reader:number("proxy-next-upstream-tries", 0, 1000)
    local timeout = reader:number("proxy-next-upstream-timeout", 0, 86400, " of seconds")
    if not text and not tries and not timeout then
        return nil
    end
    local on = {}
    for word in (text or "error timeout"):gmatch("%S+") do
        if not RETRIES[word] then
            reader:wrong("proxy-next-upstream", "a list of words of proxy_next_upstream")
            return nil
        end
        local status = tonumber(word:match("^http_(%d+)$"))
        if status and not places.has(status) then
            reader:add("differs", "proxy-next-upstream", word .. " is left out: "
                .. known.ALL["proxy-next-upstream"].text)
        else
            on[status and tostring(status) or word] = true -- as JSON has it
        end
    end
    local is_off, is_any = on.off, on.non_idempotent
    on.off, on.non_idempotent = nil, nil
    if is_off then
        return { tries = 0, on = {} }
    end
    -- nginx counts the first try, too; 0 is no limit.
    tries = tries == 0 and MOST_TRIES or (tries or 3) - 1
    return { tries = math.min(tries, MOST_TRIES), on = on, non_idempotent = is_any,
        timeout = timeout ~= 0 and timeout or nil }
end

local function read_cookie(reader, parsed)
    if not reader:choice("affinity", "cookie") then
        return nil
    end
    local function seconds(name)
        return reader:number(name, -1, 2147483647, " of seconds")
    end
    local expires = seconds("session-cookie-expires")
    local path = reader:like("session-cookie-path", "^/[%w%-%._~/:,%?&=]*$", "a path")
    parsed.has_cookie_path = path ~= nil
    return { name = reader:like("session-cookie-name", "^[%w%-%._~]+$", "the name of a cookie")
            or "INGRESSCOOKIE",
        path = path, max_age = seconds("session-cookie-max-age") or expires,
        domain = reader:like("session-cookie-domain", "^[%w%-%.]+$", "a host name"),
        same_site = reader:choice("session-cookie-samesite", "None Lax Strict", true),
        secure = reader:flag("session-cookie-secure") or nil,
        change_on_failure = reader:flag("session-cookie-change-on-failure") or nil }
end

local function read_balance(reader, parsed)
    local cookie = read_cookie(reader, parsed)
    if cookie and reader:choice("affinity-mode", "balanced persistent") == "balanced" then
        reader:add("differs", "affinity-mode", known.ALL["affinity-mode"].text)
    end
    local hash = reader:like("upstream-hash-by", "^[%w%-_%${}]+$",
        "a text with variables of nginx (letters, digits and -_${})")
    if hash and not hash:find("$", 1, true) then
        hash = reader:wrong("upstream-hash-by", "a text with a variable, such as $request_uri")
    end
    local known_hash = hash and reader:template("upstream-hash-by")
    local algorithm = reader:choice("load-balance",
        "round_robin ewma chash chashsubset sticky_balanced sticky_persistent")
    local retry = read_retries(reader)
    local by = cookie and "sticky" or known_hash and "hash" or algorithm == "ewma" and "ewma"
        or algorithm == "round_robin" and "round_robin" or nil
    if by or retry then
        parsed.settings.balance = { by = by, hash_by = known_hash and by == "hash" and hash or nil,
            cookie = cookie, retry = retry }
    end
end

-- A text for one of the directives that change answers. Variables and regular expressions of nginx
-- are not known there.
local PLAIN = "^[^%s%c\"';$~][^%s%c\"';$]*$"

local function read_redirects(reader)
    local from = reader:like("proxy-redirect-from", PLAIN, "a text without variables, or off")
    local to = reader:like("proxy-redirect-to", PLAIN, "a text without variables")
    if from and to and from ~= "off" and from ~= "default" then
        return { kind = "redirect", from = from, to = to }
    end
end

local function read_cookie_change(reader, name, kind)
    local text = reader:text(name)
    local from, to = (text or ""):match("^(%S+)%s+(%S+)$")
    if from and from:find(PLAIN) and to:find(PLAIN) then
        return { kind = kind, from = from, to = to }
    elseif text and text ~= "off" then
        reader:wrong(name, "two texts without variables (what is replaced, and by what), or off")
    end
end

local function read_answers(reader, settings)
    local list = {}
    for _, change in ipairs { read_redirects(reader) or false,
        read_cookie_change(reader, "proxy-cookie-path", "cookie_path") or false,
        read_cookie_change(reader, "proxy-cookie-domain", "cookie_domain") or false } do
        list[#list + 1] = change or nil
    end
    settings.answers = list[1] and list or nil
end

---@param reader kubelua.gateway.AnnotationReader
---@param parsed kubelua.gateway.ParsedAnnotations
return function(reader, parsed)
    read_protocol(reader, parsed)
    read_limits(reader, parsed)
    read_balance(reader, parsed)
    read_answers(reader, parsed.settings)
end
