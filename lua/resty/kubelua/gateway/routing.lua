-- The request as match.lua sees it, and the matcher over the shared map. A worker has one request
-- table: its fields are read from nginx when they are asked for, so a request costs no table.
local match = require "resty.kubelua.gateway.match"
local publish = require "resty.kubelua.gateway.publish"
local searching = require "resty.kubelua.gateway.searching"
local tables = require "resty.kubelua.tables"
local weights = require "resty.kubelua.gateway.weights"

local routing = {}

local var = ngx.var

local ports ---@type table<string, integer>? the Gateway's port by nginx's
local header_names = {} -- "X-Name" to "http_x_name"
local header_count = 0
local MOST_NAMES = 10000

local function header_variable(name)
    local variable = header_names[name]
    if not variable then
        variable = "http_" .. name:lower():gsub("-", "_")
        if header_count >= MOST_NAMES then
            header_names, header_count = {}, 0
        end
        header_names[name], header_count = variable, header_count + 1
    end
    return variable
end

---A header of the request.
---@param name string
---@return string?
function routing.header(name)
    return var[header_variable(name)]
end

-- All of them: one that is not looked at would lead past the rule that names it. There are as many
-- as large_client_header_buffers lets in.
local function read_argument(name)
    return ngx.req.get_uri_args(0)[name]
end

local function read_cookie(name)
    return var["cookie_" .. name]
end

local READ = {
    address = function() return var.server_addr end,
    port = function()
        local port = var.server_port
        return ports and ports[port] or port
    end,
    scheme = function() return var.kubelua_proto or var.scheme end,
    method = function() return ngx.req.get_method() end,
    host = function() return var.host end,
    path = function() return var.uri end,
    raw_path = function() return (var.request_uri:match("^[^?]*")) end,
    query = function() return var.args end,
}

---@type resty.kubelua.gateway.Request
routing.request = setmetatable({ header = routing.header, argument = read_argument,
    cookie = read_cookie }, { __index = function(_, field)
        local read = READ[field]
        return read and read()
    end })

---A variable of a template. The scheme is the client's.
---@param name string
---@return string?
function routing.variable(name)
    if name == "scheme" then
        return routing.request.scheme
    end
    return var[name]
end

---Makes the matcher of this process.
---@param kube resty.kubelua.Instance
---@param options resty.kubelua.GatewayOptions
function routing.set_up(kube, options)
    local map = kube.map
    ports = nil
    for listened, named in pairs(options.ports or {}) do
        ports = ports or {}
        ports[tostring(listened)] = named
    end
    routing.kube = kube
    routing.matcher = match.new {
        entry = function(key) return tables.entry(map, publish.ENTRIES, key) end,
        host = function(key) return tables.entry(map, publish.HOSTS, key) end,
        read = function(entry) return tables.value(map, entry) end,
        regex = searching.find,
    }
    routing.weights = weights.new(math.random, searching.find)
end

---The Gateway's port for one that nginx listens on.
---@param port integer
---@return integer
function routing.named_port(port)
    return ports and ports[tostring(port)] or port
end

return routing
