-- The nginx.conf of the gateway: for `kubelua gateway init`, the example and the specs.

local conf = {}

---@class resty.kubelua.gateway.ConfOptions
---@field modules string? directives load_module
---@field main string? directives of the main part, in place of the usual ones
---@field http string? more directives of the part http
---@field resolvers string[]? DNS servers, for hosts of auth-url that are no Services
---@field authorities string? a file of CAs: of the certificates of these hosts
---@field files string the folder nginx beside this file, where nginx finds it
---@field lua_path string
---@field lua_cpath string
---@field ports integer[] without TLS
---@field tls_ports integer[]
---@field named table<integer, integer>? the Gateway's port, for ports that differ
---@field address string? where nginx listens
---@field options string? more fields of gateway.init; a line for each
---@field http2 "listen"|"directive"|nil how nginx is told to serve HTTP/2
---@field admin string address and port of /readyz, /metrics and /kubelua

-- What a user may change is here; what the gateway needs is in the files of the folder nginx/.
local TEXT = [=[
@modules@
@main@
worker_processes auto; worker_rlimit_nofile 32768; events { worker_connections 16384; }
http {
    lua_package_path "@lua_path@";
    lua_package_cpath "@lua_cpath@";
    lua_shared_dict kubelua_limits 10m;
    lua_regex_match_limit 10000; lua_regex_cache_max_entries 8192;
    @hosts@
    init_by_lua_block {
        gateway = require "resty.kubelua.gateway"
        assert(gateway.init {
            ports = { @named@ },
            retries = true,
            @options@
        })
    }
    init_worker_by_lua_block { gateway.init_worker { wait = 5 } }
    client_max_body_size 0; server_tokens off; proxy_connect_timeout 5s; grpc_connect_timeout 5s;
    ssl_protocols TLSv1.2 TLSv1.3; proxy_buffering off; proxy_buffer_size 8k; proxy_buffers 8 8k;
    include @files@/http.conf;
    map $server_port $kubelua_port { default $server_port; @named_ports@}
    @http@
    server {
        @listen@
        @tls@
        include @files@/server.conf;
        include @files@/retries.conf;
    }
    server {
        listen @admin@; # for probes, Prometheus and you
        include @files@/admin.conf;
    }
}
]=]

local MAIN = "worker_shutdown_timeout 240s; # of WebSockets, at a reload"

local function listen_of(options)
    local lines = {}
    local address = options.address and options.address .. ":" or ""
    local http2 = options.http2 == "listen" and " http2" or ""
    for _, port in ipairs(options.ports) do
        lines[#lines + 1] = ("listen %s%d;"):format(address, port)
    end
    for _, port in ipairs(options.tls_ports) do
        lines[#lines + 1] = ("listen %s%d ssl%s;"):format(address, port, http2)
    end
    if options.http2 == "directive" then
        lines[#lines + 1] = "http2 on;"
    end
    return table.concat(lines, "\n")
end

local function named_of(options)
    local words = {}
    for _, list in ipairs { options.ports, options.tls_ports } do
        for _, port in ipairs(list) do
            words[#words + 1] = ("[%d] = %d"):format(port, (options.named or {})[port] or port)
        end
    end
    return table.concat(words, ", ")
end

-- For X-Forwarded-Port: the ports of nginx that clients know by another number.
local function named_ports_of(options)
    local words = {}
    for _, list in ipairs { options.ports, options.tls_ports } do
        for _, port in ipairs(list) do
            local named = (options.named or {})[port] or port
            words[#words + 1] = named ~= port and ("%d %d; "):format(port, named) or nil
        end
    end
    return table.concat(words)
end

-- How hosts outside of the cluster are found and checked.
local function hosts_of(options)
    local lines = {}
    if options.resolvers and options.resolvers[1] then
        lines[1] = ("resolver %s; resolver_timeout 5s;"):format(
            table.concat(options.resolvers, " "))
    end
    if options.authorities then
        lines[#lines + 1] = ("lua_ssl_trusted_certificate %s; lua_ssl_verify_depth 5;"):format(
            options.authorities)
    end
    return table.concat(lines, "\n")
end

-- A value of several lines has the indent of its first one; lines without text go.
local function fill(values)
    local lines = {}
    for line in TEXT:gmatch("[^\n]+") do
        local indent = line:match("^ *")
        line = line:gsub("@(%w[%w_]*)@", function(name)
            return (assert(values[name], name):gsub("\n%s*", "\n" .. indent))
        end)
        if line:find("%S") then
            lines[#lines + 1] = line
        end
    end
    return table.concat(lines, "\n") .. "\n"
end

---The text of an nginx.conf.
---@param options resty.kubelua.gateway.ConfOptions
---@return string
function conf.text(options)
    return fill { modules = options.modules or "", main = options.main or MAIN,
        http = options.http or "", lua_path = options.lua_path, lua_cpath = options.lua_cpath,
        listen = listen_of(options), named = named_of(options),
        named_ports = named_ports_of(options), options = options.options or "",
        hosts = hosts_of(options), files = options.files, admin = options.admin,
        tls = #options.tls_ports > 0 and ("include %s/tls.conf;"):format(options.files) or "" }
end

return conf
