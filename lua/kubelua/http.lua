-- kubelua.http: a request to a server that is no API server, over the transport of the core. Under
-- a test, a function of the test answers it: cluster:serve.
local core = require "kubelua.core"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"
local query = require "kubelua.query"
local requests = require "kubelua.requests"
local tasks = require "kubelua.tasks"
local urls = require "kubelua.url"

---What kubelua.http takes beside the URL.
---@class kubelua.HttpOptions
---@field method? string default: "GET"
---@field headers? table<string, string>
---@field query? table<string, string|number|boolean> parameters; they are encoded here
---@field body? string|table|kubelua.Object a table or a view is sent as JSON
---@field timeout? number seconds of the whole call, with its redirects and retries; default: 30
---@field ca_file? string the path of PEM certificates: the authorities to trust; default: the
---system's
---@field ca_data? string the same as PEM text
---@field insecure? boolean trust any certificate
---@field tls_server_name? string the name in the server's certificate
---@field cert_file? string a client certificate
---@field key_file? string the key of the client certificate
---@field cert_data? string a client certificate as PEM text
---@field key_data? string its key as PEM text
---@field proxy_url? string default: that of HTTPS_PROXY, HTTP_PROXY and NO_PROXY

local TYPES = {
    method = "string", headers = "table", query = "table", body = "string|table|userdata",
    timeout = "number", ca_file = "string", ca_data = "string", insecure = "boolean",
    tls_server_name = "string", cert_file = "string", key_file = "string", cert_data = "string",
    key_data = "string", proxy_url = "string",
}

local CONNECTION = { "ca_file", "ca_data", "insecure", "tls_server_name", "cert_file", "key_file",
    "cert_data", "key_data", "proxy_url" }

local REDIRECTS = 10 -- as in Go's client
local TIMEOUT = 30 -- seconds
local KEPT = 16 -- servers whose connections are kept

local FOLLOWED = { [301] = true, [302] = true, [303] = true, [307] = true, [308] = true }

-- Headers that cannot hold a credential: only these go along to another server.
local HARMLESS = { ["accept"] = true, ["accept-language"] = true, ["content-type"] = true,
    ["if-modified-since"] = true, ["if-none-match"] = true, ["range"] = true }

local clients = {} -- array of { key, client }, the last used one at the end

local function find_client(key)
    for i, one in ipairs(clients) do
        if one.key == key then
            table.insert(clients, table.remove(clients, i))
            return one.client
        end
    end
end

-- A client of the core for this server and these options; it keeps its connections.
local function client_of(origin, given)
    local wanted, key = { server = origin }, origin
    for _, name in ipairs(CONNECTION) do
        wanted[name] = given[name]
        key = key .. "\0" .. tostring(given[name])
    end
    local client = find_client(key)
    if client then
        return client
    end
    local is_open, message, code = tasks.poller:open()
    if is_open then
        client, message, code = core.connect(wanted)
    end
    if not client then
        return nil, message, code
    end
    if #clients >= KEPT then
        table.remove(clients, 1) -- the collector closes it, after its last request
    end
    clients[#clients + 1] = { key = key, client = client }
    return client
end

local function send(url, given, call)
    local client, message, code = client_of(url.origin, given)
    if not client then
        return nil, message, code
    end
    local reply
    reply, message, code = requests.send(client, call, "kubelua.http")
    if code == "forked" then
        clients = {} -- those of the parent process
        client, message, code = client_of(url.origin, given)
        if client then
            reply, message, code = requests.send(client, call, "kubelua.http")
        end
    end
    return reply, message, code
end

-- The reply of a test. It may take time on the test's clock.
local function ask_test(cluster, clock, url, call)
    tasks.current("kubelua.http")
    local began = clock:now()
    local reply, message, code = cluster:answer_http(url, call)
    if clock:now() - began > call.timeout then
        return nil, string.format("no answer within %g s", call.timeout), "timeout"
    end
    return reply, message, code
end

-- Under a test, its cluster answers.
local function exchange(url, given, call)
    local clock = tasks.clock_here()
    if clock.cluster then
        return ask_test(clock.cluster, clock, url, call)
    end
    return send(url, given, call)
end

local function has_credentials(given)
    return given.cert_file ~= nil or given.key_file ~= nil or given.cert_data ~= nil
        or given.key_data ~= nil
end

-- The options and headers without what may be a credential, for another server.
local function without_credentials(given, headers)
    local fewer = {}
    for name, value in pairs(headers) do
        fewer[name] = HARMLESS[name:lower()] and value or nil
    end
    if not has_credentials(given) then
        return given, fewer
    end
    local without = {}
    for name, value in pairs(given) do
        without[name] = value
    end
    without.cert_file, without.key_file, without.cert_data, without.key_data = nil, nil, nil, nil
    return without, fewer
end

-- The URL that the reply redirects to; false: it does not, or is not to be followed; nil, message:
-- it leads where no request may go.
local function next_url(url, method, reply)
    local location = reply.headers.location
    if not location or not FOLLOWED[reply.status] or (method ~= "GET" and method ~= "HEAD") then
        return false
    end
    local found, problem = urls.resolve(url, location)
    if not found then
        return nil, "it redirects to " .. location .. ": " .. problem
    elseif url.scheme == "https" and found.scheme == "http" then
        return nil, "it redirects from https to " .. found.text .. ", which is not followed"
    end
    return found
end

local function follow(url, given, call)
    local deadline = core.now() + call.timeout
    for _ = 0, REDIRECTS do
        call.path = url.target
        call.timeout = math.max(0, deadline - core.now())
        local reply, message, code = exchange(url, given, call)
        if not reply then
            return nil, message, code
        end
        local found, problem = next_url(url, call.method, reply)
        if problem then
            return nil, problem, "unavailable", reply
        elseif not found then
            reply.url = url.text
            return reply
        end
        if found.origin ~= url.origin then
            given, call.headers = without_credentials(given, call.headers)
        end
        url = found
    end
    return nil, "it redirects more than " .. REDIRECTS .. " times", "unavailable"
end

local function check(text, given)
    if type(text) ~= "string" then
        misuse("http: a URL expected, such as \"https://example.com/zones\", not a %s", type(text))
    end
    given = options.optional("http", given, TYPES)
    local timeout = given.timeout
    if timeout and (timeout < 0 or timeout ~= timeout) then
        misuse("http: 'timeout' must be a number of seconds, from 0")
    end
    local url, problem = urls.parse(text)
    if not url then
        misuse("http: the URL is wrong: %s", problem)
    end
    url.target = query.target(url.target, given.query)
    url.text = url.origin .. url.target
    return url, given
end

local function copy_headers(given)
    local headers, has_accept = {}, false
    for name, value in pairs(given or {}) do
        if type(name) ~= "string" then
            misuse("http: headers are texts by name, such as { Accept = \"text/plain\" }")
        end
        headers[name] = value
        has_accept = has_accept or name:lower() == "accept"
    end
    if not has_accept then
        headers.Accept = "*/*"
    end
    return headers
end

---What kubelua.http returns.
---@class kubelua.HttpReply: kubelua.Reply
---@field url string where the reply has come from, after redirects

---Sends a request to any server, and waits for the whole reply in its own task. Redirects of GET
---and HEAD are followed. A status of 400 or more is a failure: its fourth result is the reply.
---@param text string the URL
---@param given kubelua.HttpOptions?
---@return kubelua.HttpReply?, string?, string?, kubelua.HttpReply?
return function(text, given)
    local url
    url, given = check(text, given)
    local headers = copy_headers(given.headers)
    local method = given.method or "GET"
    local call = { method = method, headers = headers, body = given.body,
        timeout = given.timeout or TIMEOUT, takes_authorization = true }
    local reply, message, code, refused = follow(url, given, call)
    tasks.end_if_cancelled()
    if reply and reply.status >= 400 then
        message, code = core.status_error(reply.status, reply.body)
        refused, reply = reply, nil
    end
    if not reply then
        return nil, method .. " " .. url.text .. ": " .. message, code, refused
    end
    return reply
end
