-- auth-url: an auth service says if a request may pass. It gets the head of the request, never the
-- body. 2xx lets it pass; 401 and 403 are the client's answer; all else is 500, also silence.
local framing = require "resty.kubelua.gateway.framing"
local http_head = require "resty.kubelua.gateway.http_head"
local routing = require "resty.kubelua.gateway.routing"
local template = require "resty.kubelua.gateway.template"

local auth_service = {}

local var = ngx.var

local peer ---@type (fun(host: string): string)?
local hosts ---@type string[]?
local is_verified = true

---@param options resty.kubelua.GatewayOptions
function auth_service.set_up(options)
    peer, hosts, is_verified = options.peer, options.auth_hosts, options.auth_verify ~= false
end

local read_variable = routing.variable

local function render(parts)
    return template.render(parts, read_variable, ngx.escape_uri)
end

-- The parts of a URL. Variables may have brought bytes that a request line cannot have.
local function split(url)
    local scheme, host, rest = url:match("^(https?)://(%[[%x:%.]+%])(.*)$")
    if not host then
        scheme, host, rest = url:match("^(https?)://([%w%-%._~]+)(.*)$")
    end
    local port, path = (rest or ""):match("^:(%d+)(.*)$")
    port, path = tonumber(port), path or rest
    if not host or not path:find("^[/?]") and path ~= "" or port and port > 65535 then
        return nil
    end
    path = path:gsub("#.*$", ""):gsub("[%c \127-\255]", function(byte)
        return ("%%%02X"):format(byte:byte())
    end)
    return { scheme = scheme, host = host:lower(), port = port or scheme == "https" and 443 or 80,
        named_port = port, path = path:sub(1, 1) == "/" and path or "/" .. path }
end

local function is_listed(host)
    for _, each in ipairs(hosts or { "*" }) do
        if each == "*" or each == host or each:sub(1, 2) == "*." and #host > #each - 1
            and host:sub(1 - #each) == each:sub(2) then
            return true
        end
    end
    return false
end

-- Where to ask: an endpoint of a Service, without DNS, or a host. nil, message: not there.
local function find_target(url)
    local tls = url.scheme == "https" and url.host or nil
    local name, namespace = url.host:match("^([^.]+)%.([^.]+)%.svc%.?$")
    if not name then
        name, namespace = url.host:match("^([^.]+)%.([^.]+)%.svc%.cluster%.local%.?$")
    end
    if name then
        local service = ("%s/%s:%d"):format(namespace, name, url.port)
        local host, port = routing.kube.pick(service)
        if not host then
            return nil, ("the Service %s: %s"):format(service, port)
        end
        return { host = peer and peer(host) or host, port = port, tls = tls }
    elseif not is_listed(url.host) then
        return nil, ("the host %s is not in auth_hosts of gateway.init"):format(url.host)
    end
    return { host = url.host, port = url.port, tls = tls, verify = tls and is_verified }
end

-- Headers that the gateway says itself, or that are of the body. What the client says of them does
-- not reach the service.
local OWN = { host = true, expect = true, ["content-encoding"] = true, ["proxy-connection"] = true,
    ["http2-settings"] = true, proxy = true }

local function is_own(lower)
    return OWN[lower] or lower:find("^x%-forwarded%-") or lower:find("^x%-original%-")
end

local function own_headers(settings, url)
    local host = url.named_port and url.host .. ":" .. url.named_port or url.host
    local asked, scheme = var.http_host or var.host, routing.request.scheme
    return { { "Host", host }, { "X-Original-URL", scheme .. "://" .. asked
            .. var.request_uri }, { "X-Original-Method", var.request_method },
        { "X-Original-URI", var.request_uri }, { "X-Scheme", scheme },
        { "X-Sent-From", "nginx-ingress-controller" }, { "X-Real-IP", var.remote_addr },
        { "X-Forwarded-For", var.remote_addr }, { "X-Forwarded-Host", asked },
        { "X-Forwarded-Proto", scheme }, { "X-Forwarded-Uri", var.request_uri },
        { "X-Forwarded-Method", var.request_method }, { "X-Request-ID", var.request_id },
        { "X-Auth-Request-Redirect", settings.request_redirect
            and render(settings.request_redirect) or var.request_uri } }
end

local function write_request(settings, url)
    local lines, seen = { ("%s %s HTTP/1.1"):format(settings.method, url.path) }, {}
    local function add(name, value)
        if type(value) == "string" and not value:find("[\r\n%z]") then
            lines[#lines + 1] = name .. ": " .. value
        end
    end
    for _, header in ipairs(own_headers(settings, url)) do
        seen[header[1]:lower()] = true
        add(header[1], header[2])
    end
    for name, value in pairs(ngx.req.get_headers(0, true)) do
        local lower = name:lower():gsub("_", "-")
        if not seen[lower] and not is_own(lower) and not framing[lower] then
            for _, each in ipairs(type(value) == "table" and value or { value }) do
                add(name, each)
            end
        end
    end
    if settings.method ~= "GET" and settings.method ~= "HEAD" then
        add("Content-Length", "0")
    end
    return table.concat(lines, "\r\n") .. "\r\n\r\n"
end

-- The backend gets these headers from the service only: never those that the client sent.
local function pass_headers(settings, head)
    for _, name in ipairs(settings.response_headers or {}) do
        local values = head.headers[name:lower()]
        if values then
            ngx.req.set_header(name, values)
        else
            ngx.req.clear_header(name)
        end
    end
end

local function deny(settings, head, state)
    state.auth_cookies = head.headers["set-cookie"]
    if head.status == 401 and settings.signin then
        ngx.header.Location = render(settings.signin)
        return 302
    elseif head.status == 401 then
        ngx.header["WWW-Authenticate"] = head.headers["www-authenticate"]
    end
    return head.status
end

---Asks the service of a request.
---@param settings table auth_request of the settings
---@param state resty.kubelua.gateway.State
---@return integer? status nil: the request may pass
---@return string? why for the log
function auth_service.check(settings, state)
    local text = render(settings.url)
    local url = split(text)
    if not url then
        return 500, "auth-url: " .. text .. " is no URL"
    end
    local target, message = find_target(url)
    local head
    if target then
        head, message = http_head.ask(target, settings.method, write_request(settings, url))
    end
    if not head then
        return 500, ("auth-url: %s://%s: %s"):format(url.scheme, url.host, tostring(message))
    elseif head.status >= 200 and head.status < 300 then
        pass_headers(settings, head)
        state.auth_cookies = head.headers["set-cookie"]
        state.auth_cookies_always = settings.always_set_cookie
        return nil
    elseif head.status == 401 or head.status == 403 then
        return deny(settings, head, state)
    end
    return 500, ("auth-url: %s://%s answers %d"):format(url.scheme, url.host, head.status)
end

-- Statuses with which nginx adds headers.
local ADDED = {}
for status in ("200 201 204 206 301 302 303 304 307 308"):gmatch("%d+") do
    ADDED[tonumber(status)] = true
end

---The cookies of the service that an answer gets, beside its own.
---@param state resty.kubelua.gateway.State
---@return string[]?
function auth_service.cookies(state)
    return (state.auth_cookies_always or ADDED[ngx.status]) and state.auth_cookies or nil
end

return auth_service
