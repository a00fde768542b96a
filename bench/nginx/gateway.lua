-- What the gateway costs an nginx worker for a request, beside a static location of the same nginx:
-- 1,000 hosts with 10 paths each. gateway_costs.lua has the cases, flow.c sends the requests.
-- Usage: bench/nginx/run gateway [ROUNDS [CASE...]]; by default 41, and all. Exit status 1: a bound
-- does not hold.
package.path = "lua/?.lua;lua/?/init.lua;sim/lua/?.lua;spec/support/?.lua;bench/nginx/?.lua;"
    .. package.path
package.cpath = os.getenv("KUBELUA_BUILD") .. "/lua/5.1/?.so;" .. package.cpath

local cases = require "gateway_costs"
local conf = require "resty.kubelua.gateway.conf"
local copies = require "nginx_copies"
local core = require "kubelua.core"
local eventually = require "eventually"
local kubelua = require "kubelua"
local nginx = require "nginx"
local Sim = require "kubelua.sim"

local REQUESTS, CONNECTIONS = 1000, 16 -- of a turn

local function read_file(path)
    local file = assert(io.open(path))
    local text = file:read("*a")
    file:close()
    return text
end

local function write_file(path, text)
    local file = assert(io.open(path, "w"))
    file:write(text)
    file:close()
end

local function start_backends()
    local port, listens = copies.free_ports(1)[1], {}
    for n = 0, cases.SERVICES - 1 do
        for _, address in ipairs(cases.addresses(n)) do
            listens[#listens + 1] = ("listen %s:%d;"):format(address, port)
        end
    end
    local one = nginx.start { workers = 1, lua = false, level = "warn",
        http = "server { " .. table.concat(listens, " ")
            .. " location / { return 200 \"$server_addr\\n\"; } }",
        server = "location / { return 200 \"backends\\n\"; }" }
    one.backend_port = port
    return one
end

-- The same lines for the backend as the gateway has, as a careful author writes them.
local HEADERS = [[
    proxy_set_header Host $host; proxy_set_header Upgrade $http_upgrade;
    proxy_set_header Connection $static_connection; proxy_set_header HTTP2-Settings "";
    proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header X-Forwarded-Host $host;
    proxy_set_header X-Forwarded-Proto $scheme; proxy_set_header X-Real-IP $remote_addr;
    proxy_set_header X-Forwarded-Port $server_port; proxy_set_header X-Forwarded-Scheme $scheme;
    proxy_set_header X-Request-ID $request_id; proxy_set_header X-Scheme $scheme;
    proxy_set_header Proxy "";
]]

-- The gateway's own.
local VARIABLES = [[
    proxy_set_header Host $kubelua_asked; proxy_set_header Upgrade $kubelua_upgrade;
    proxy_set_header Connection $kubelua_connection; proxy_set_header HTTP2-Settings "";
    proxy_set_header X-Forwarded-For $remote_addr;
    proxy_set_header X-Forwarded-Host $kubelua_asked;
    proxy_set_header X-Forwarded-Proto $scheme; proxy_set_header X-Real-IP $remote_addr;
    proxy_set_header X-Forwarded-Port $kubelua_port; proxy_set_header X-Forwarded-Scheme $scheme;
    proxy_set_header X-Request-ID $kubelua_request_id; proxy_set_header X-Scheme $scheme;
    proxy_set_header Proxy "";
]]

-- The module of njs, if bench/nginx/run has fetched it; and a filter of each language. With njs,
-- nginx needs 2 s of CPU more to start with 10,000 locations.
local NJS, HOSTS_WITH_NJS = os.getenv("KUBELUA_NJS") or "", 100
local LUA_FILTER = 'header_filter_by_lua_block { ngx.header["X-Set"] = "set" }'
local NJS_FILTER = "js_header_filter filter.set;"
local NJS_TEXT = 'export default { set: function(r) { r.headersOut["X-Set"] = "set" } }\n'

local PHASES = " access_by_lua_block { } header_filter_by_lua_block { } log_by_lua_block { } "

local function upstream(name, servers, lua)
    return ("upstream %s { %s %s keepalive 256; }\n"):format(name, servers, lua or "")
end

-- Servers of nginx.conf beside the gateway's: each has the paths of cases.place.
local function servers(self)
    local lines = { 'map $http_upgrade $static_connection { default upgrade; "" ""; }\n'
        .. "server_names_hash_max_size 8192; server_names_hash_bucket_size 128;\n"
        .. ("ssl_certificate %s/crt.pem; ssl_certificate_key %s/key.pem;\n"):format(self.folder,
            self.folder) }
    local listen = ("listen 127.0.0.1:%d; listen 127.0.0.1:%d ssl;"):format(self.static_port,
        self.static_tls_port)
    for n = 0, cases.SERVICES - 1 do
        local list = {}
        for i, address in ipairs(cases.addresses(n)) do
            list[i] = ("server %s:%d;"):format(address, self.backends.backend_port)
        end
        local text = table.concat(list, " ")
        lines[#lines + 1] = upstream("static_" .. n, text)
        lines[#lines + 1] = upstream("empty_" .. n, text, "balancer_by_lua_block { }")
        lines[#lines + 1] = upstream("constant_" .. n, "server 0.0.0.1;", ("balancer_by_lua_block {"
            .. " local b = require 'ngx.balancer' b.set_more_tries(1) b.set_current_peer('%s', %d) "
            .. "}"):format(cases.addresses(n)[1], self.backends.backend_port))
    end
    local function add(hosts, headers, to, phases, filter)
        local paths = {}
        for n = 0, cases.PATHS - 1 do
            paths[#paths + 1] = ("location /p%d/ { %s proxy_pass http://%s_%d; }"):format(n,
                filter or "", to, n % cases.SERVICES)
        end
        lines[#lines + 1] = ("server { %s server_name %s;\n%s%s\n%s }\n"):format(listen, hosts,
            headers, phases or "", table.concat(paths, "\n"))
    end
    for i = 0, cases.HOSTS - 1 do
        add(cases.place("static"):format(i), HEADERS, "static")
    end
    -- one server for all hosts: to look for one of 1,000 costs nginx next to nothing
    add("*.variables.example.com", VARIABLES, "static")
    add("*.empty.example.com", HEADERS, "empty", PHASES)
    add("*.constant.example.com", HEADERS, "constant", PHASES)
    add("*.lua.example.com", VARIABLES, "static", nil, LUA_FILTER)
    if NJS ~= "" then
        write_file(self.folder .. "/filter.js", NJS_TEXT)
        add("*.njs.example.com", VARIABLES, "static", ("js_path %s; js_import filter.js;"):format(
            self.folder), NJS_FILTER)
    end
    return table.concat(lines)
end

local function conf_of(self)
    return function(copy, folder, port)
        local around = nginx.surroundings(copy, folder)
        around.main = around.main:gsub("error.log info", "error.log warn")
        around.modules = NJS ~= "" and ("%s\nload_module %s;"):format(around.modules, NJS)
            or around.modules
        around.ports, around.tls_ports = { port }, { self.tls_port }
        around.named = { [port] = 80, [self.tls_port] = 443 }
        around.address, around.admin = "127.0.0.1", "127.0.0.1:" .. self.admin_port
        around.options = ("size = 2^28, status = false, peer = peer, connect = { server = \"%s\" }")
            :format(self.url)
        around.http = around.http .. servers(self)
        local text = conf.text(around)
        text = text:gsub("worker_processes auto", "worker_processes 1")
        return (text:gsub("init_by_lua_block {", [[%0
            local known = {}
            local function peer(host)
                local address = known[host]
                if not address then
                    address = host:gsub("^10%%.127%%.", "127.0.")
                    known[host] = address
                end
                return address
            end]], 1))
    end
end

-- A certificate for all hosts.
local function make_pair(folder)
    local said, status = copies.shell(("cd %s && openssl req -x509 -newkey rsa:2048 -nodes -days 2 "
        .. "-subj /CN=bench -keyout key.pem -out crt.pem"):format(folder))
    assert(status == 0, said)
    return { apiVersion = "v1", kind = "Secret", type = "kubernetes.io/tls",
        metadata = { name = "pair", namespace = "web" },
        data = { ["tls.crt"] = kubelua.base64(read_file(folder .. "/crt.pem")),
            ["tls.key"] = kubelua.base64(read_file(folder .. "/key.pem")) } }
end

local function start()
    local self = { folder = copies.shell("mktemp -d") }
    local secret = make_pair(self.folder)
    self.backends = start_backends()
    self.sim = assert(Sim.new { no_controllers = true })
    assert(self.sim:load(read_file("examples/gateway/crds.yaml")))
    cases.load(self.sim, self.backends.backend_port, secret)
    self.url = assert(self.sim:listen { address = "127.0.0.1", port = 0 })
    local ports = copies.free_ports(4)
    self.tls_port, self.admin_port, self.static_port, self.static_tls_port = ports[1], ports[2],
        ports[3], ports[4]
    self.one = nginx.start { workers = 1, conf = conf_of(self) }
    return self
end

local function close(self)
    self.one:close()
    self.backends:close()
    self.sim:close()
    copies.shell("rm -r " .. self.folder)
end

local FROM_CONF = { static = true, variables = true, empty = true, constant = true, lua = true,
    njs = true }

-- A line of flow.c's standard input.
local function line_of(self, case)
    local base = case.name:gsub("_tls$", "")
    local is_tls = base ~= case.name
    local host, path, paths = cases.place(case.name)
    local port = FROM_CONF[base] and (is_tls and self.static_tls_port or self.static_port)
        or is_tls and self.tls_port or self.one.port
    return ("%s %d %s %s %d %s %d\n"):format(case.name, port, is_tls and "https" or "http", host,
        cases.HOSTS, path, paths)
end

-- Waits until the last host of a case is served.
local function await(self, case)
    local host, path = cases.place(case.name)
    local name = host:format(cases.HOSTS - 1)
    local base = case.name:gsub("_tls$", "")
    local port = FROM_CONF[base] and self.static_port or self.one.port
    eventually(function()
        return copies.shell(("curl -s -o /dev/null -m 5 -w '%%{http_code}' -H 'Host: %s' "
            .. "http://127.0.0.1:%d%s"):format(name, port, path:format(0))) == "200"
    end, function() return case.name .. " is served\n" .. self.one:said() end)
end

local function median(list)
    table.sort(list)
    return list[math.ceil(#list / 2)], list[math.ceil(#list / 4)],
        list[math.ceil(#list * 3 / 4)]
end

-- Waits until the worker, which has compiled all routes, is at rest.
local function await_rest(pid)
    local function spent()
        return tonumber(read_file(("/proc/%s/task/%s/schedstat"):format(pid, pid)):match("%d+"))
    end
    eventually(function()
        local before, since = spent(), core.now()
        kubelua.step(0.3)
        return (spent() - before) / 1e9 < 0.1 * (core.now() - since)
    end, "the worker is at rest")
end

-- Nanoseconds and sleeps of a request, by case and round.
local function measure(self, wanted, rounds)
    local plan, pid = {}, self.one:workers()[1]
    for _, case in ipairs(wanted) do
        await(self, case)
        plan[#plan + 1] = line_of(self, case)
    end
    await_rest(pid)
    write_file(self.folder .. "/plan", table.concat(plan))
    local said, status = copies.shell(("%s/spec/flow %s %d %d %d <%s/plan"):format(copies.build,
        pid, rounds, REQUESTS, CONNECTIONS, self.folder))
    assert(status == 0, said)
    local costs, sleeps = {}, {}
    for name, round, time, switches in said:gmatch("(%S+) (%d+) (%S+) (%S+)") do
        costs[name], sleeps[name] = costs[name] or {}, sleeps[name] or {}
        costs[name][tonumber(round)] = tonumber(time)
        sleeps[name][tonumber(round)] = tonumber(switches)
    end
    return costs, sleeps
end

-- The median of the ratios of each round, and the quartiles.
local function ratio(costs, name, over)
    local list = {}
    for round, cost in ipairs(costs[name]) do
        list[round] = cost / costs[over][round]
    end
    return median(list)
end

local function print_case(case, costs, sleeps)
    local times, rests = {}, {}
    for i, time in ipairs(costs[case.name]) do
        times[i], rests[i] = time, sleeps[case.name][i]
    end
    local text, holds, over = "", true, case.over or "static"
    if costs[over] and over ~= case.name then
        local middle, low, high = ratio(costs, case.name, over)
        text = ("%.3f (%.3f to %.3f) of %s"):format(middle, low, high, over)
        if case.bound then
            holds = middle <= case.bound
            text = text .. (" | at most %.2f: %s"):format(case.bound, holds and "holds" or "FAILS")
        end
    end
    print(("| %s | %.2f us | %.2f | %s |"):format(case.label, (median(times)) / 1000,
        (median(rests)), text))
    return holds
end

local missing = nginx.missing()
if missing then
    print("no nginx: " .. missing)
    os.exit(77)
end

local rounds, chosen = tonumber(arg[1]) or 41, {}
for i = 2, #arg do
    chosen[arg[i]] = true
end
if chosen.njs then
    cases.HOSTS = HOSTS_WITH_NJS
end
local wanted = {}
for _, case in ipairs(cases.list(chosen.njs)) do
    if #arg < 2 or chosen[case.name] or case.name == "static" then
        wanted[#wanted + 1] = case
    end
end
local self = start()
io.stderr:write("the worker is process ", self.one:workers()[1], "\n") -- for perf record -p
local ok, costs, sleeps = pcall(measure, self, wanted, rounds)
close(self)
assert(ok, costs)
local holds = true
print("| case | CPU a request | sleeps | of what |\n|---|---|---|---|")
for _, case in ipairs(wanted) do
    holds = print_case(case, costs, sleeps) and holds
end
os.exit(holds and 0 or 1)
