-- kubelua gateway init: prints an nginx.conf for the gateway, with the paths of this installation.
local complain = require "kubelua.cli.complaint"
local conf = require "resty.kubelua.gateway.conf"

local DONE, FAILED = 0, 1
local MODULES = "/usr/lib/nginx/modules" -- where Debian has them

local function exists(path)
    local file = io.open(path)
    if file then
        file:close()
    end
    return file ~= nil
end

-- A path of this installation for LuaJIT, which nginx runs: the command may run in Lua 5.4.
local function for_luajit(path)
    return ((path .. "/"):gsub("/lua/5%.4/", "/lua/5.1/"):gsub("/$", ""))
end

-- The entries for package.path and package.cpath; nil and what is missing.
local function find_paths()
    local found = package.searchpath("resty.kubelua.gateway.conf", package.path)
    local core = package.searchpath("kubelua.core", package.cpath)
    if not found or not core then
        return nil, "this command is one file; nginx needs KubeLua as a package or a rock"
    end
    local folder = for_luajit(found:match("^(.*)/resty/kubelua/gateway/conf%.lua$"))
    local library = for_luajit(core:match("^(.*)/kubelua/core%.so$"))
    for _, path in ipairs { folder .. "/resty/kubelua.lua", library .. "/kubelua/core.so",
        folder .. "/resty/kubelua/gateway/nginx/http.conf" } do
        if not exists(path) then
            return nil, path .. " is missing: install KubeLua for LuaJIT, which nginx runs"
        end
    end
    return folder, library
end

-- What `nginx -v` says; "" if there is no such program.
local function ask_version(program)
    local pipe = io.popen("'" .. program:gsub("'", "'\\''") .. "' -v 2>&1")
    local said = pipe and pipe:read("*a") or ""
    if pipe then
        pipe:close()
    end
    return said
end

-- nginx tells HTTP/1.1 from HTTP/2 without TLS since 1.25.1, which has the directive `http2`.
local function http2_of(said)
    local major, minor, patch = said:match("/(%d+)%.(%d+)%.(%d+)")
    local number = major and major * 1000000 + minor * 1000 + patch or 0
    return number >= 1025001 and "directive" or "listen"
end

local function ask_nginx(program)
    if program then
        return ask_version(program)
    end
    local said = ask_version("openresty")
    return said:find("openresty/", 1, true) and said or ask_version("nginx")
end

local function modules_of(said)
    if said:find("openresty", 1, true) or not exists(MODULES .. "/ngx_http_lua_module.so") then
        return ""
    end
    return ("load_module %s/ndk_http_module.so;\nload_module %s/ngx_http_lua_module.so;"):format(
        MODULES, MODULES)
end

-- Where distributions have the CAs of the system.
local AUTHORITIES = { "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem" }

local function find_authorities()
    for _, path in ipairs(AUTHORITIES) do
        if exists(path) then
            return path
        end
    end
end

-- The DNS servers of this machine.
local function read_resolvers()
    local file, list = io.open("/etc/resolv.conf"), {}
    for line in (file and file:read("*a") or ""):gmatch("[^\n]+") do
        local address = line:match("^%s*nameserver%s+([%x:%.]+)%s*$")
        list[#list + 1] = address and (address:find(":", 1, true) and "[" .. address .. "]"
            or address)
    end
    if file then
        file:close()
    end
    return list
end

local function quote_list(list)
    local words = {}
    for i, text in ipairs(list) do
        words[i] = ("%q"):format(text)
    end
    return "{ " .. table.concat(words, ", ") .. " }"
end

local function fields_of(options)
    local fields = {}
    if options.address[1] then
        fields[#fields + 1] = "addresses = " .. quote_list(options.address)
    end
    if options.pool[1] then
        fields[#fields + 1] = "pool = " .. quote_list(options.pool)
    end
    if options.ingress_nginx then
        fields[#fields + 1] = "nginx = true"
    end
    return table.concat(fields, ",\n")
end

local function read_ports(given, default, named)
    local ports = {}
    for _, port in ipairs(given[1] and given or { { listened = default, named = default } }) do
        if port.listened > 0 then
            ports[#ports + 1] = port.listened
            named[port.listened] = port.named
        end
    end
    return ports
end

---@param options table of the command line
---@return integer status of the command
return function(options)
    local folder, library = find_paths()
    if not folder then
        complain(library)
        return FAILED
    end
    local said, named = ask_nginx(options.nginx), {}
    io.stdout:write("# Made by `kubelua gateway init`; docs/GATEWAY.md says what it is for.\n",
        conf.text {
            resolvers = read_resolvers(), authorities = find_authorities(),
            files = folder .. "/resty/kubelua/gateway/nginx",
            modules = modules_of(said), http2 = http2_of(said),
            lua_path = ("%s/?.lua;%s/?/init.lua;;"):format(folder, folder),
            lua_cpath = library .. "/?.so;;",
            ports = read_ports(options.port, 80, named),
            tls_ports = read_ports(options.tls_port, 443, named),
            named = named, options = fields_of(options), admin = options.admin,
        })
    return DONE
end
