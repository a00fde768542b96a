-- Asks a server by HTTP/1.1 for the head of an answer, through a socket of nginx. The server may be
-- a tenant's: what it sends is bounded in bytes and in time.
local http_head = {}

local CONNECT_MS = 5000
local TIMEOUT = 30 -- seconds for all of it
local MOST_BYTES = 64 * 1024 -- of a head
local MOST_BODY = 16 * 1024 -- a longer body ends the connection
local IDLE_MS, POOL = 10000, 32

---Where to ask, and how.
---@class resty.kubelua.gateway.HttpTarget
---@field host string an address, or a name
---@field port integer
---@field tls string? the name for the handshake; nil: without TLS
---@field verify boolean? check the certificate

---@class resty.kubelua.gateway.HttpHead
---@field status integer
---@field headers table<string, string[]> by their names in lower case

local function parse_head(text)
    local status, rest = text:match("^HTTP/1%.[01] (%d%d%d)[^\r\n]*\r?\n(.*)$")
    local headers = {}
    for line in (rest or ""):gmatch("([^\n]-)\r?\n") do
        local name, value = line:match("^([^%s:%c]+):[ \t]*(.-)[ \t]*$")
        if not name or value:find("%c") then
            return nil
        end
        name = name:lower()
        headers[name] = headers[name] or {}
        table.insert(headers[name], value)
    end
    return status and { status = tonumber(status), headers = headers }
end

-- Reads until the empty line. The head; what followed it; or nil and why not.
local function receive_head(socket, deadline)
    local text = ""
    while true do
        local from, to = text:find("\n\r?\n")
        if from then
            local head = parse_head(text:sub(1, from))
            local rest = text:sub(to + 1)
            if not head then
                return nil, "the answer is no HTTP/1.1"
            elseif head.status >= 200 then
                return head, rest
            end
            text = rest -- of 1xx
        elseif #text > MOST_BYTES then
            return nil, "the head of the answer is too long"
        else
            local left = deadline - ngx.now()
            if left <= 0 then
                return nil, "timeout"
            end
            socket:settimeout(left * 1000)
            local more, message = socket:receiveany(4096)
            if not more then
                return nil, message, #text == 0
            end
            text = text .. more
        end
    end
end

-- Keeps the connection if its answer has ended; else closes it.
local function release(socket, head, rest, method)
    local length = head.headers["content-length"]
    length = length and #length == 1 and tonumber(length[1]) or not length and head.status == 204
        and 0
    if method == "HEAD" then
        length = 0
    end
    local left = length and length - #rest
    local closes = head.headers.connection or head.headers["transfer-encoding"]
    if left and left >= 0 and length <= MOST_BODY and not closes
        and (left == 0 or socket:receive(left)) then
        return socket:setkeepalive(IDLE_MS, POOL)
    end
    return socket:close()
end

local function connect(target)
    local socket = ngx.socket.tcp()
    socket:settimeout(CONNECT_MS)
    local pool = ("kubelua %s %d %s %s"):format(target.host, target.port, target.tls or "",
        tostring(target.verify))
    local ok, message = socket:connect(target.host, target.port, { pool = pool })
    if ok and target.tls and socket:getreusedtimes() == 0 then
        ok, message = socket:sslhandshake(false, target.tls, target.verify or false)
    end
    if not ok then
        socket:close()
        return nil, message
    end
    return socket
end

-- One try. Third: true if it may be tried again, since a kept connection was closed.
local function try(target, request, method, deadline)
    local socket, message = connect(target)
    if not socket then
        return nil, message
    end
    local is_kept = socket:getreusedtimes() > 0
    socket:settimeout(math.max(1, (deadline - ngx.now()) * 1000))
    local sent
    sent, message = socket:send(request)
    if not sent then
        socket:close()
        return nil, message, is_kept
    end
    local head, rest, is_silent = receive_head(socket, deadline)
    if not head then
        socket:close()
        return nil, rest, is_kept and is_silent and rest == "closed"
    end
    release(socket, head, rest, method)
    return head
end

---Sends a request without a body, and reads the head of the answer.
---@param target resty.kubelua.gateway.HttpTarget
---@param method string
---@param request string its line and headers, with the empty line
---@return resty.kubelua.gateway.HttpHead? head
---@return string? message
function http_head.ask(target, method, request)
    local deadline = ngx.now() + TIMEOUT
    while true do
        local head, message, again = try(target, request, method, deadline)
        if head or not again or ngx.now() >= deadline then
            return head, message
        end
    end
end

return http_head
