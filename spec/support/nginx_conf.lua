-- The nginx.conf of a spec: a common part, and the spec's directives.
local nginx_conf = {}

local TEMPLATE = [[
daemon @daemon@;
master_process @master@;
worker_processes @workers@;
worker_shutdown_timeout @shutdown@s;
pid @folder@/nginx.pid;
env LD_LIBRARY_PATH; # for a binary upgrade
env LD_PRELOAD;
env ASAN_OPTIONS;
error_log @folder@/error.log @level@;
@user@
@modules@
@main@
events {
    worker_connections 4096;
}
http {
    access_log off;
    client_body_temp_path @folder@/body;
    proxy_temp_path @folder@/proxy;
    fastcgi_temp_path @folder@/fastcgi;
    uwsgi_temp_path @folder@/uwsgi;
    scgi_temp_path @folder@/scgi;
    keepalive_timeout 60s;
    keepalive_requests 1000000;
    default_type text/plain;
@lua@
@http@
    server {
        listen 127.0.0.1:@port@;
@server@
    }
}
]]

local LUA = [[
    lua_package_path "@lua_path@";
    lua_package_cpath "@build@/lua/5.1/?.so;;";
    lua_socket_log_errors off;
    lua_code_cache @code_cache@;
]]

local function fill(template, values)
    return (template:gsub("@([%w_]+)@", function(name)
        return tostring(values[name])
    end))
end

local function modules_of(copy)
    return string.format("load_module %s/ndk_http_module.so;\n"
        .. "load_module %s/ngx_http_lua_module.so;", copy.MODULES, copy.MODULES)
end

---@class spec.NginxOptions
---@field workers integer? default: 2
---@field daemon boolean? nginx forks once more, and leaves its process group
---@field master boolean? false: one process, which is the worker
---@field lua boolean? false: without the Lua module
---@field code_cache boolean? false: lua_code_cache off
---@field level string? of error.log; default: notice
---@field shutdown integer? seconds until an exiting worker cuts its connections; default: 5
---@field main string? directives outside of http
---@field http string? directives in http: upstream, init_by_lua_block, server, ...
---@field server string? directives in the server that listens on the port: location, ...
---@field environment string? "NAME=value NAME=value", of the master process

---@param copy table nginx_copies.find()
---@param options spec.NginxOptions
---@param folder string where its files are
---@param port integer
---@return string
function nginx_conf.write(copy, options, folder, port)
    local is_lua = options.lua ~= false
    local lua = is_lua and fill(LUA, {
        lua_path = string.gsub("R/lua/?.lua;R/lua/?/init.lua;R/spec/support/?.lua;", "R", copy.root)
            .. copy.SHARE .. "/?.lua;;",
        build = copy.build,
        code_cache = options.code_cache == false and "off" or "on",
    }) or ""
    return fill(TEMPLATE, {
        workers = options.workers or 2, folder = folder, level = options.level or "notice",
        shutdown = options.shutdown or 5, main = options.main or "", http = options.http or "",
        modules = is_lua and modules_of(copy) or "", lua = lua, port = port,
        server = options.server or "",
        daemon = options.daemon and "on" or "off",
        master = options.master == false and "off" or "on",
        user = nginx_conf.is_root and "user root;" or "",
    })
end

return nginx_conf
