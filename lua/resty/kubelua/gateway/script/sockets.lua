-- The global `socket` of scripts: TCP connections of nginx, which wait without blocking the worker.
-- They lead to Services of the script's namespace; elsewhere only if the administrator says so:
-- from here, nginx's own ports and the API server could be reached.
local budget = require "resty.kubelua.gateway.script.budget"
local environment = require "resty.kubelua.gateway.script.environment"
local routing = require "resty.kubelua.gateway.routing"
local values = require "resty.kubelua.gateway.script.values"

local sockets = {}

local MOST_SOCKETS = 10 -- of a request
local MOST_BYTES = 1024 * 1024 -- of one receive
local MOST_LINE = 64 * 1024
local MOST_SECONDS = 60

local peer ---@type (fun(host: string): string)?

---@param options resty.kubelua.GatewayOptions
function sockets.set_up(options)
    peer = options.peer
end

-- nginx's socket of each object that a script has. Weak: it goes with it.
local inner = setmetatable({}, { __mode = "k" })

---@class resty.kubelua.ScriptSocket
local Socket = {}
local META = { __index = Socket, __metatable = false }

local function of(self, call)
    local found = inner[self]
    if not found then
        values.refuse(call, "call it with a colon, on a socket")
    end
    return found
end

local function address_of(script, service)
    local name = values.service("socket:connect", script.namespace, service)
    local host, port = routing.kube.pick(name)
    if host and peer then
        host = peer(host)
    end
    return host, port
end

---Connects to an endpoint of a Service, "name:port"; with the option `sockets = "all"`, also to a
---host and a port.
---@param host string
---@param port integer?
---@return true? ok
---@return string? message
function Socket:connect(host, port)
    local found, script = of(self, "socket:connect"), budget.current().script
    if port == nil then
        host, port = address_of(script, host)
        if not host then
            return nil, "no endpoint: " .. tostring(port)
        end
    elseif script.limits.sockets ~= "all" then
        values.refuse("socket:connect", "name a Service of the namespace, \"name:port\"; other "
            .. "places only with gateway.init { scripts = { sockets = \"all\" } }")
    end
    host = values.line("socket:connect", "the host", host)
    if host:find("^unix:") or type(port) ~= "number" then
        values.refuse("socket:connect", "a host and a number of a port expected")
    end
    return budget.pause(found.connect, found, host, port)
end

---@param seconds number
function Socket:set_timeout(seconds)
    local found = of(self, "socket:set_timeout")
    if type(seconds) ~= "number" or not (seconds > 0 and seconds <= MOST_SECONDS) then
        values.refuse("socket:set_timeout", "seconds up to %d", MOST_SECONDS)
    end
    found:settimeout(seconds * 1000)
end

---@param text string
---@return integer? bytes
---@return string? message
function Socket:send(text)
    local found = of(self, "socket:send")
    return budget.pause(found.send, found, values.text("socket:send", "what is sent", text))
end

local function receive_line(found)
    local read = found:receiveuntil("\n")
    local line, problem, part = read(MOST_LINE)
    if not line then
        return nil, problem, part
    elseif #line == MOST_LINE then
        return nil, "too long"
    end
    read(1) -- the end of the line
    return (line:gsub("\r$", ""))
end

---Receives a number of bytes; without a number, a line, without its end.
---@param size integer?
---@return string? text
---@return string? message
---@return string? part what came before it failed
function Socket:receive(size)
    local found = of(self, "socket:receive")
    if size == nil then
        return budget.pause(receive_line, found)
    elseif type(size) ~= "number" or not (size >= 1 and size <= MOST_BYTES) then
        values.refuse("socket:receive", "a number of bytes from 1 to %d", MOST_BYTES)
    end
    return budget.pause(found.receive, found, math.floor(size))
end

---Begins TLS; the certificate is verified for `name` by lua_ssl_trusted_certificate of nginx.conf.
---@param name string
---@return true? ok
---@return string? message
function Socket:handshake(name)
    local found = of(self, "socket:handshake")
    name = values.line("socket:handshake", "the name", name)
    local session, problem = budget.pause(found.sslhandshake, found, false, name, true)
    return session and true or nil, problem
end

function Socket:close()
    local found = of(self, "socket:close")
    return budget.pause(found.close, found)
end

---@return resty.kubelua.ScriptSocket
local function tcp()
    local run = budget.current()
    if run.phase ~= "access" then
        values.refuse("socket.tcp", "only in access")
    end
    run.sockets = (run.sockets or 0) + 1
    if run.sockets > MOST_SOCKETS then
        values.refuse("socket.tcp", "more than %d sockets in a request", MOST_SOCKETS)
    end
    local self = setmetatable({}, META)
    inner[self] = ngx.socket.tcp()
    return self
end

sockets.library = environment.share { tcp = tcp }

return sockets
