-- The nginx.conf of the gateway: for `kubelua gateway init`, the example and the specs.
local places = require "resty.kubelua.gateway.balance.places"

local conf = {}

---@class resty.kubelua.gateway.ConfOptions
---@field modules string? directives load_module
---@field main string? directives of the main part, in place of the usual ones
---@field http string? more directives of the part http
---@field resolvers string[]? DNS servers, for hosts of auth-url that are no Services
---@field authorities string? a file of CAs: of the certificates of these hosts
---@field lua_path string
---@field lua_cpath string
---@field ports integer[] without TLS
---@field tls_ports integer[]
---@field named table<integer, integer>? the Gateway's port, for ports that differ
---@field address string? where nginx listens
---@field options string? more fields of gateway.init
---@field http2 "listen"|"directive"|nil how nginx is told to serve HTTP/2
---@field admin string address and port of /readyz, /metrics and /kubelua

-- A line that ends with a backslash goes on in the next one.
local TEXT = [=[
@modules@
@main@ \
worker_processes auto; events { worker_connections 16384; }
http {
    lua_package_path "@lua_path@";
    lua_package_cpath "@lua_cpath@";
    lua_shared_dict kubelua_limits 10m;@hosts@ \
    lua_regex_match_limit 10000; lua_regex_cache_max_entries 8192;
    init_by_lua_block {
        gateway = require "resty.kubelua.gateway"
        assert(gateway.init { ports = { @named@ }, retries = true, @options@ })
    }
    init_worker_by_lua_block { gateway.init_worker { wait = 5 } }
    upstream kubelua { server 0.0.0.1; balancer_by_lua_block { gateway.balancer() } keepalive 256; }
    upstream kubelua_tls { server 0.0.0.1; balancer_by_lua_block { gateway.balancer() } }
    upstream kubelua_grpc { server 0.0.0.1; balancer_by_lua_block { gateway.balancer() } \
        keepalive 64; }
    map $http_upgrade $kubelua_upgrade { default $http_upgrade; ~*h2c ""; } \
    map $kubelua_upgrade $kubelua_connection { default upgrade; "" ""; }
    map "$host $http_host" $kubelua_asked { default $host; "~*^(\S+) \1\.?(:\d*)?$" $http_host; } \
    client_max_body_size 0; server_tokens off; \
    proxy_http_version 1.1; proxy_next_upstream error timeout; \
    proxy_next_upstream_tries 100; grpc_next_upstream_tries 100; \
    proxy_ssl_server_name on; proxy_ssl_name $kubelua_name;
    proxy_set_header Host $kubelua_host; proxy_set_header Upgrade $kubelua_upgrade; \
    proxy_set_header Connection $kubelua_connection; proxy_set_header HTTP2-Settings "";
    proxy_set_header X-Forwarded-For $remote_addr; \
    proxy_set_header X-Forwarded-Host $kubelua_asked; \
    proxy_set_header X-Forwarded-Proto $scheme; proxy_set_header X-Real-IP $remote_addr; \
    grpc_set_header X-Forwarded-For $remote_addr; grpc_set_header X-Forwarded-Host $kubelua_asked; \
    grpc_set_header Host $kubelua_host; \
    grpc_set_header X-Forwarded-Proto $scheme; grpc_set_header X-Real-IP $remote_addr; \
    proxy_ignore_headers X-Accel-Redirect; grpc_ignore_headers X-Accel-Redirect;
@http@
    server {
        @listen@
        @tls@
        set $kubelua_rate_after 0; limit_rate_after $kubelua_rate_after; \
        header_filter_by_lua_block { gateway.header_filter() } \
        log_by_lua_block { gateway.log() }
        location / {
            set $kubelua_host $kubelua_asked; \
            access_by_lua_block { gateway.access() }
            proxy_pass http://kubelua;
        }
        location @kubelua_http { rewrite_by_lua_block { gateway.resume() } \
            proxy_pass http://kubelua$kubelua_uri; }
        location @kubelua_tls { rewrite_by_lua_block { gateway.resume() } \
            proxy_pass https://kubelua_tls$kubelua_uri; }
        location @kubelua_grpc { rewrite_by_lua_block { gateway.resume() } \
            grpc_pass $kubelua_scheme://kubelua_grpc; }
        @again@ # retries after a status: a set of them has a location
        location @kubelua_script { rewrite_by_lua_block { gateway.resume() } \
            body_filter_by_lua_block { gateway.body_filter() } \
            proxy_pass $kubelua_to$kubelua_uri; } \
        location @kubelua_mirror { rewrite_by_lua_block { gateway.resume() } \
            body_filter_by_lua_block { gateway.body_filter() } \
            mirror kubelua-mirror-1; mirror kubelua-mirror-2; \
            proxy_pass http://kubelua$kubelua_uri; }
        location ^~ kubelua-mirror- { internal; rewrite_by_lua_block { gateway.mirror() } \
            proxy_pass http://kubelua$request_uri; }
    }
    server { listen @admin@; # for probes, Prometheus and you
        set $kubelua_state ""; set $kubelua_uri ""; set $kubelua_scheme ""; \
        set $kubelua_name ""; set $kubelua_to ""; # so that they exist
        location = /readyz { content_by_lua_block { \
            ngx.exit(gateway.kube.synced() and 200 or 503) } } \
        location = /metrics { content_by_lua_block { ngx.print(gateway.metrics()) } } \
        location = /kubelua { content_by_lua_block { gateway.show() } }
    }
}
]=]

local TLS = "ssl_certificate data:$ssl_server_name; ssl_certificate_key data:$ssl_server_name; "
    .. "ssl_certificate_by_lua_block { gateway.handshake() } # never read: the block sets them"

local MAIN = "worker_shutdown_timeout 240s;" -- of WebSockets, at a reload

local function listen_of(options)
    local words = {}
    local address = options.address and options.address .. ":" or ""
    local http2 = options.http2 == "listen" and " http2" or ""
    for _, port in ipairs(options.ports) do
        words[#words + 1] = ("listen %s%d;"):format(address, port)
    end
    for _, port in ipairs(options.tls_ports) do
        words[#words + 1] = ("listen %s%d ssl%s;"):format(address, port, http2)
    end
    if options.http2 == "directive" then
        words[#words + 1] = "http2 on;"
    end
    return table.concat(words, " ")
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

-- How hosts outside of the cluster are found and checked.
local function hosts_of(options)
    local words = {}
    if options.resolvers and options.resolvers[1] then
        words[1] = (" resolver %s; resolver_timeout 5s;"):format(
            table.concat(options.resolvers, " "))
    end
    if options.authorities then
        words[#words + 1] = (" lua_ssl_trusted_certificate %s; lua_ssl_verify_depth 5;"):format(
            options.authorities)
    end
    return table.concat(words)
end

---The text of an nginx.conf.
---@param options resty.kubelua.gateway.ConfOptions
---@return string
function conf.text(options)
    local values = { modules = options.modules or "", main = options.main or MAIN,
        http = options.http or "", lua_path = options.lua_path, lua_cpath = options.lua_cpath,
        listen = listen_of(options), named = named_of(options), options = options.options or "",
        again = places.directives(), hosts = hosts_of(options),
        tls = #options.tls_ports > 0 and TLS or "", admin = options.admin }
    local text = TEXT:gsub("@(%w[%w_]*)@", function(name)
        return assert(values[name], name)
    end)
    return (text:gsub(" \\\n%s*", " "):gsub("\n%s*\n", "\n"):gsub("^%s*\n", "")
        :gsub(",%s*}", " }"))
end

return conf
