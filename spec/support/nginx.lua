-- A real nginx for a spec: writes its nginx.conf, starts it, reloads it, kills workers, reads
-- error.log. `close` fails if error.log holds a line that no run may have.
local copies = require "nginx_copies"
local eventually = require "eventually"

local nginx = {}

---@class spec.Nginx
---@field port integer
---@field folder string
---@field conf string the path of nginx.conf
---@field killed table<string, boolean> workers that the spec killed, by pid
local Nginx = {}
Nginx.__index = Nginx

local shell = copies.shell

-- Lines of error.log that no run may have; `faults` also looks for "on signal".
local FATAL = {
    "panic", "AddressSanitizer", "LeakSanitizer", "ThreadSanitizer", "runtime error:", "[emerg]",
    "exited with fatal code", "bad callback", "double free", "assertion", "stack smashing",
}

local function read_file(path)
    local file = io.open(path, "rb")
    if not file then
        return ""
    end
    local text = file:read("*a")
    file:close()
    return text
end

local function write_file(path, text)
    local file = assert(io.open(path, "w"))
    file:write(text)
    file:close()
end

---The reason why there is no nginx here, or nil.
---@return string?
function nginx.missing()
    local _, reason = copies.find()
    return reason
end

-- nginx's processes are one process group. If this interpreter ends without stopping nginx, a guard
-- kills that group; the guard is in another group than the interpreter, so that a signal to the
-- interpreter's group does not end it. The process that starts nginx ends once nginx runs: nginx
-- ignores USR2 for as long as its parent lives.
local GUARD = [=[
    cd @folder@
    exec >>output 2>&1 </dev/null
    cat >launch <<'END'
        echo $$ >group
        export LD_PRELOAD='@preload@' LD_LIBRARY_PATH='@libraries@'
        env @environment@ @nginx@ -p @folder@ -c @conf@ &
        unset LD_PRELOAD LD_LIBRARY_PATH
        while [ ! -s nginx.pid ] && kill -0 $!; do sleep 0.02; done
END
    setsid sh launch &
    until [ -s group ]; do sleep 0.02; done
    while kill -0 @owner@ && kill -s 0 -- -$(cat group); do sleep 1; done 2>/dev/null
    kill -s KILL -- -$(cat group) 2>/dev/null
]=]

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

---What an nginx.conf of a spec has beside its own: directives of the main part and of http, so that
---all files are in the folder.
---@param copy table nginx_copies.find()
---@param folder string
---@return { modules: string, main: string, http: string, files: string, lua_path: string,
---lua_cpath: string }
function nginx.surroundings(copy, folder)
    return {
        modules = modules_of(copy),
        main = fill("worker_shutdown_timeout 5s; pid @f@/nginx.pid; error_log @f@/error.log info; "
            .. "env LD_LIBRARY_PATH; env LD_PRELOAD; env ASAN_OPTIONS; @user@", { f = folder,
            user = shell("id -u") == "0" and "user root;" or "" }),
        http = fill("access_log off; client_body_temp_path @f@/body; proxy_temp_path @f@/proxy; "
            .. "fastcgi_temp_path @f@/fastcgi; uwsgi_temp_path @f@/uwsgi; "
            .. "scgi_temp_path @f@/scgi; keepalive_requests 1000000;", { f = folder }),
        files = copy.root .. "/lua/resty/kubelua/gateway/nginx",
        lua_path = string.gsub("R/lua/?.lua;R/lua/?/init.lua;", "R", copy.root)
            .. copy.SHARE .. "/?.lua;;",
        lua_cpath = copy.build .. "/lua/5.1/?.so;;",
    }
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
---@field conf (fun(copy: table, folder: string, port: integer): string)? makes the whole nginx.conf

-- The nginx.conf of a spec: a common part, and the spec's directives.
---@param copy table nginx_copies.find()
---@param options spec.NginxOptions
---@param folder string where its files are
---@param port integer
---@return string
local function conf_of(copy, options, folder, port)
    if options.conf then
        return options.conf(copy, folder, port)
    end
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
        user = shell("id -u") == "0" and "user root;" or "",
    })
end

local function launch(self)
    local copy = assert(copies.find())
    local values = {
        folder = self.folder, environment = self.options.environment or "", nginx = copy.NGINX,
        libraries = copy.LIBRARIES, preload = copies.preload, conf = self.conf,
        owner = shell("echo $PPID"),
    }
    write_file(self.folder .. "/guard", (GUARD:gsub("@(%a+)@", values)))
    shell("setsid sh " .. self.folder .. "/guard >/dev/null 2>&1 &")
end

local function end_group(self)
    shell("kill -s KILL -- -" .. read_file(self.folder .. "/group"))
end

-- True once the process that has started nginx is over: see GUARD.
local function is_on_its_own(self, master)
    local parent = read_file("/proc/" .. master .. "/stat"):match("%) %u (%d+)")
    return parent and parent ~= read_file(self.folder .. "/group"):match("%d+")
end

---Starts an nginx, and waits for its first worker.
---@param options spec.NginxOptions
---@return spec.Nginx
function nginx.start(options)
    local copy = assert(copies.find())
    local folder = shell("mktemp -d")
    local self = setmetatable({
        folder = folder, conf = folder .. "/nginx.conf", options = options, killed = {},
        port = copies.free_ports(1)[1],
    }, Nginx)
    write_file(self.conf, conf_of(copy, options, folder, self.port))
    launch(self)
    local ok, problem = pcall(eventually, function()
        local workers = options.master == false and 0 or options.workers or 2
        local master = self:master()
        return master and is_on_its_own(self, master) and #self:workers() >= workers
            and self:get("/") ~= nil
    end, "nginx starts", 30)
    if not ok then
        problem = problem .. "\n" .. self:said()
        end_group(self)
        error(problem, 2)
    end
    return self
end

---Gives nginx other options, for the next reload.
---@param changes spec.NginxOptions
function Nginx:configure(changes)
    for name, value in pairs(changes) do
        self.options[name] = value
    end
    write_file(self.conf, conf_of(assert(copies.find()), self.options, self.folder,
        self.port))
end

---The pid of the master process, or nil.
---@return string?
function Nginx:master()
    local pid = read_file(self.folder .. "/nginx.pid"):match("%d+")
    return pid and read_file("/proc/" .. pid .. "/comm"):match("nginx") and pid or nil
end

---The pids of a master's children, oldest first; children that are about to exit are included.
---@param master string? default: the current one
---@return string[]
function Nginx:workers(master)
    local pids = {}
    master = master or self:master()
    local path = master and string.format("/proc/%s/task/%s/children", master, master)
    for pid in read_file(path or ""):gmatch("%d+") do
        pids[#pids + 1] = pid
    end
    return pids
end

---Sends a signal to a process of this nginx; by default, to the master.
---@param name string "HUP", "KILL", ...
---@param pid string?
function Nginx:signal(name, pid)
    pid = pid or self:master()
    if pid then
        self.killed[pid] = self.killed[pid] or name == "KILL" or name == "TERM"
        shell("kill -" .. name .. " " .. pid)
    end
end

---Reloads; returns at once.
function Nginx:reload()
    self:signal("HUP")
end

---Status and body of one GET, or nil while nothing answers.
---@param path string
---@param seconds number? default: 10
---@return integer?, string?
function Nginx:get(path, seconds)
    local said, status = shell(string.format("curl -s -m %g -w '\\n%%{http_code}' "
        .. "http://127.0.0.1:%d%s", seconds or 10, self.port, path))
    local body, code = said:match("^(.*)\n(%d+)$")
    if status ~= 0 or not code then
        return nil
    end
    return tonumber(code), (body:gsub("\n$", ""))
end

---The text of error.log so far.
function Nginx:log()
    return read_file(self.folder .. "/error.log")
end

---What nginx printed, and the end of error.log.
function Nginx:said()
    return read_file(self.folder .. "/output"):sub(-4000) .. "\n" .. self:log():sub(-6000)
end

---How many lines of error.log contain this text.
function Nginx:count(text)
    local count, at = 0, 1
    local log = self:log()
    while true do
        at = log:find(text, at, true)
        if not at then
            return count
        end
        count, at = count + 1, at + #text
    end
end

local function is_fatal(self, line)
    for _, text in ipairs(FATAL) do
        if line:find(text, 1, true) then
            return true
        end
    end
    local pid = line:match("process (%d+) exited on signal")
    return pid and not self.killed[pid]
end

---Lines that no run may have in error.log or on the outputs.
---@return string[]
function Nginx:faults()
    local faults = {}
    for line in (read_file(self.folder .. "/output") .. "\n" .. self:log()):gmatch("[^\n]+") do
        if is_fatal(self, line) then
            faults[#faults + 1] = line
        end
    end
    return faults
end

---Stops nginx in any state, and fails if error.log holds a line that no run may have.
function Nginx:close()
    local master = self:master()
    if master then
        local workers = self:workers()
        self:signal("TERM")
        for _, pid in ipairs(workers) do
            self.killed[pid] = true
        end
        eventually(function()
            return not self:master()
        end, function()
            return "nginx ends\n" .. self:said()
        end, 20)
    end
    end_group(self)
    local faults = self:faults()
    if #faults > 0 then
        error(table.concat(faults, "\n") .. "\nin " .. self.folder, 2)
    end
    shell("rm -rf '" .. self.folder .. "'")
end

---How this nginx is told to speak HTTP/2 to clients: since 1.25.1 by a directive.
---@param copy table of nginx_copies
---@return "directive"|"listen"
function nginx.http2_of(copy)
    local minor, patch = copy.VERSION:match("^1%.(%d+)%.(%d+)")
    return tonumber(minor) * 1000 + tonumber(patch) >= 25001 and "directive" or "listen"
end

return nginx
