-- The gateway of a spec: a simulated cluster with the kinds of the Gateway API, backends that say
-- what they were asked, and an nginx with the nginx.conf that `kubelua gateway init` prints.
local conf = require "resty.kubelua.gateway.conf"
local copies = require "nginx_copies"
local eventually = require "eventually"
local kubelua = require "kubelua"
local nginx = require "nginx"
local Sim = require "kubelua.sim"
local slices = require "slices"

local gateway_world = {}

---@class spec.GatewayWorld
---@field sim kubelua.Sim
---@field one spec.Nginx
---@field backends spec.Nginx with the ports `backend_port`, `h2_port` and `tls_port`
---@field tls_port integer
local World = {}
World.__index = World

-- A backend for each Service: it answers with its name and what it was asked.
local BACKEND = [[
    server {
        listen 127.0.0.%d:%d;
        listen 127.0.0.%d:%d http2;
        listen 127.0.0.%d:%d ssl;
        ssl_certificate %s/crt.pem;
        ssl_certificate_key %s/key.pem;
        access_log %s/requests.log asked;
        location / {
            add_header X-Backend %s;
            add_header X-Old old;
            set $asked "$request_method $request_uri host=$http_host x=$http_x_test";
            set $how "$server_protocol $scheme sni=$ssl_server_name upgrade=$http_upgrade";
            set $client "ip=$http_x_real_ip for=$http_x_forwarded_for";
            set $client "$client authorization=$http_authorization,";
            return 200 "%s $asked $how,$http_connection $client\n";
        }
        location /told {
            set $told "port=$http_x_forwarded_port scheme=$http_x_scheme,$http_x_forwarded_scheme";
            return 200 "$told id=$http_x_request_id proxy=$http_proxy host=$http_host,\n";
        }
        location /slow { limit_rate 1; return 200 "slow\n"; }
        location /why {
            set $why "$http_x_code $http_x_format $http_x_namespace $http_x_ingress_name";
            return 200 "$why $http_x_service_name:$http_x_service_port,\n";
        }
        location /events { limit_rate_after 1k; limit_rate 100; return 200 @events@; }
        location /auth {
            set $seen "$request_method $request_uri $http_x_original_url $http_x_original_method";
            set $seen "$seen length=$http_content_length$http_transfer_encoding";
            set $said "$http_x_forwarded_port$http_x_original_user$http_proxy";
            add_header X-Test "$seen ip=$http_x_forwarded_for host=$http_host said=$said" always;
            add_header Set-Cookie "auth=$cookie_user" always;
            add_header WWW-Authenticate "Bearer realm=auth" always;
            if ($cookie_user = ann) { return 200; }
            if ($cookie_user = eve) { return 403; }
            if ($cookie_user = lost) { return 302 /; }
            if ($cookie_user = broken) { return 500; }
            return 401;
        }
        location = /large { default_type text/plain; alias @large@; }
        location /accel { add_header X-Accel-Redirect /; return 200 "accel\n"; }
        location /moved {
            add_header Set-Cookie "a=1; Path=/two/x; Domain=shop.internal" always;
            return 302 http://shop:8080/new;
        }
        location /drop { return 444; } # the connection closes without an answer
        %s
        location /kept {
            if ($connection_requests != 1) { return 444; }
            return 200 "new\n";
        }
    }
]]

-- The first backend answers /500 and so on with that status, the others do not.
local BAD = ""
for _, status in ipairs { 500, 502, 503, 504, 429 } do
    BAD = BAD .. ("location /%d { if ($server_addr = 127.0.0.1) { return %d \"bad\\n\"; } "
        .. "return 200 \"good\\n\"; } "):format(status, status)
end

local function unpack_ports(ports)
    return ports[1], ports[2], ports[3]
end

local function start_backends(names)
    local port, h2_port, tls_port = unpack_ports(copies.free_ports(3))
    local servers = {}
    local folder = copies.shell("mktemp -d")
    copies.certificate(folder, "backend")
    for i, name in ipairs(names) do
        servers[i] = BACKEND:format(i, port, i, h2_port, i, tls_port, folder, folder, folder, name,
            name, BAD):gsub("@large@", folder .. "/large"):gsub("@events@", ("e"):rep(2000))
    end
    copies.shell("head -c 8000000 /dev/zero | tr '\\0' x > " .. folder .. "/large")
    table.insert(servers, 1,
        "log_format asked '$sent_http_x_backend $request_method $request_uri';")
    local one = nginx.start { workers = 1, lua = false, http = table.concat(servers),
        server = "location / { return 200 \"backends\\n\"; }" }
    one.backend_port, one.h2_port, one.tls_port = port, h2_port, tls_port
    one.requests = folder .. "/requests.log"
    return one
end

-- Beside the gateway's locations: nginx's own way to the first backend, for nginx_traffic; and what
-- the balancers know of a Service.
local CONTROL = "location /static { proxy_pass http://static; proxy_set_header Connection "
    .. "\"\"; proxy_set_header Host $http_host; }\n        " .. [[
        location = /loads { content_by_lua_block {
            local balance = require "resty.kubelua.gateway.balance"
            for _, one in ipairs(balance.status(gateway.kube.service(ngx.var.arg_of))) do
                ngx.print(one.host, " ", one.in_flight, " ", one.fails, ";")
            end
        } }
        ]]

local function conf_of(self, options)
    return function(copy, folder, port)
        local around = nginx.surroundings(copy, folder)
        around.ports, around.tls_ports = { port }, { self.tls_port }
        around.named = { [port] = 80, [self.tls_port] = 443 }
        around.http2 = options.http2 and nginx.http2_of(copy) or nil
        around.address, around.admin = "127.0.0.1", "127.0.0.1:" .. self.admin_port
        around.options = ("connect = { %s }, peer = function(host) return "
            .. "(host:gsub(\"^10%%.127%%.\", \"127.0.\")) end, %s"):format(
            options.connect and options.connect(self) or ("server = %q"):format(self.url),
            options.options or "")
        around.http = around.http .. (" upstream static { server 127.0.0.1:%d; keepalive 64; } ")
            :format(self.backends.backend_port) .. (options.http or "")
        local text = conf.text(around):gsub("worker_processes auto",
            "worker_processes " .. (options.workers or 2))
            :gsub("init_worker_by_lua_block { ", "%0" .. (options.init_worker or ""), 1)
        return (text:gsub("include %S+/server.conf;", CONTROL .. (options.server or "") .. "%0", 1))
    end
end

local function read_file(path)
    local file = assert(io.open(path))
    local text = file:read("*a")
    file:close()
    return text
end

---@class spec.GatewayWorldOptions
---@field services string[]? "namespace/name"; default: web/one, web/two, db/three
---@field options string? more fields of gateway.init
---@field load string? objects to load before nginx starts
---@field workers integer?
---@field http string? more directives of the part http
---@field http2 boolean? clients may speak HTTP/2
---@field sim kubelua.Sim.Options?
---@field cluster spec.ChaosCluster? in place of a simulated one; then with `connect`
---@field connect (fun(world: spec.GatewayWorld): string)? fields of gateway.init's connect, for a
---cluster with TLS
---@field server string? more locations
---@field init_worker string? Lua before gateway.init_worker

---Starts the cluster, a backend for each Service, and the gateway.
---@param options spec.GatewayWorldOptions?
---@return spec.GatewayWorld
function gateway_world.start(options)
    options = options or {}
    local self = setmetatable({}, World)
    local names = options.services or { "web/one", "web/two", "db/three" }
    self.sim = options.cluster or assert(Sim.new(options.sim or { no_controllers = true }))
    assert(self.sim:load(read_file("examples/gateway/crds.yaml")))
    self.backends = start_backends(names)
    for i, name in ipairs(names) do
        local namespace, own = name:match("^(.-)/(.+)$")
        assert(self.sim:load(slices.service(namespace, own)))
        assert(self.sim:load(slices.slice(namespace, own, own .. "-1", { "127.0.0." .. i },
            self.backends.backend_port)))
    end
    if options.load then
        assert(self.sim:load(options.load))
    end
    if not options.cluster then
        self.url = assert(self.sim:listen { address = "127.0.0.1", port = 0,
            tls = options.connect ~= nil })
    end
    local ports = copies.free_ports(2)
    self.tls_port, self.admin_port = ports[1], ports[2]
    self.one = nginx.start { workers = options.workers, conf = conf_of(self, options) }
    return self
end

---An Ingress "web/NAME" of ingress-nginx's class for NAME.example.com, with the backend web/one.
---@param name string
---@param annotations table<string, string> by their names without the prefix
---@param paths string[]? default: "/"
---@param service string? another Service
---@return string host
function World:ingress(name, annotations, paths, service)
    local all, list = {}, {}
    for key, value in pairs(annotations) do
        all["nginx.ingress.kubernetes.io/" .. key] = value
    end
    for i, path in ipairs(paths or { "/" }) do
        list[i] = { path = path, pathType = "Prefix",
            backend = { service = { name = service or "one", port = { number = 80 } } } }
    end
    local host = name .. ".example.com"
    assert(self.sim:apply { apiVersion = "networking.k8s.io/v1", kind = "Ingress",
        metadata = { name = name, namespace = "web", annotations = all },
        spec = { ingressClassName = "nginx",
            rules = { { host = host, http = { paths = list } } } } })
    return host
end

---A Secret with the certificate of a folder (copies.certificate).
---@param namespace string
---@param name string
---@param folder string
function World:secret(namespace, name, folder)
    assert(self.sim:apply { apiVersion = "v1", kind = "Secret", type = "kubernetes.io/tls",
        metadata = { name = name, namespace = namespace },
        data = { ["tls.crt"] = kubelua.base64(read_file(folder .. "/crt.pem")),
            ["tls.key"] = kubelua.base64(read_file(folder .. "/key.pem")) } })
end

---One request; `words` are arguments of curl. Returns the status, the body and the headers.
---@param host string
---@param path string
---@param words string?
---@return integer? status
---@return string body
---@return string headers
function World:ask(host, path, words)
    local said = copies.shell(("curl -s -m 10 -D - -H 'Host: %s' %s 'http://127.0.0.1:%d%s' "
        .. "-w '\\n%%{http_code}'"):format(host, words or "", self.one.port, path))
    local head, body, code = said:match("^(.-)\r\n\r\n(.*)\n(%d+)$")
    if not head then
        return tonumber(said:match("(%d+)$")), said, ""
    end
    return tonumber(code), (body:gsub("\n$", "")), head
end

---Waits until a request is answered by a text that begins so, or by a status.
---@param wanted string|integer
---@param host string
---@param path string
---@param words string?
---@return string body
---@return string headers
function World:expect(wanted, host, path, words)
    local status, body, head
    eventually(function()
        status, body, head = self:ask(host, path, words)
        return status == wanted or type(wanted) == "string" and status == 200
            and body:sub(1, #wanted) == wanted
    end, function()
        return ("%s%s gives %s, not %s\n"):format(host, path, tostring(status) .. " " .. body,
            wanted) .. self.one:said()
    end, 10)
    return body, head
end

---How often backends were asked so: "GET /path".
---@param text string
---@return integer
function World:count(text)
    local _, count = read_file(self.backends.requests):gsub(text:gsub("%p", "%%%0"), "")
    return count
end

---What the balancers know of a Service's endpoints: requests in flight, and failures, by host.
---@param service string "web/one:80"
---@return table<string, { in_flight: integer, fails: integer }>
function World:loads(service)
    local loads = {}
    local _, body = self:ask("any.example.com", "/loads?of=" .. service)
    for host, in_flight, fails in body:gmatch("(%S+) (%d+) (%d+);") do
        loads[host] = { in_flight = tonumber(in_flight), fails = tonumber(fails) }
    end
    return loads
end

---True once a backend has been asked so: "web/one GET /path".
---@param text string
---@return boolean
function World:asked(text)
    return self:count(text) > 0
end

---The pid of the worker that owns the map.
---@return string
function World:owner()
    local pid
    eventually(function()
        local said = copies.shell("curl -s http://127.0.0.1:" .. self.admin_port .. "/metrics")
        pid = said:match("\nkubelua_owner_pid (%d+)")
        return pid and pid ~= "0" and copies.shell("kill -0 " .. pid) == ""
    end, function() return "a worker is the owner\n" .. self.one:said() end, 10)
    return pid
end

function World:close()
    local problems = {}
    copies.shell("rm -r " .. self.backends.requests:match("^.*/"))
    for _, one in ipairs { self.one, self.backends } do
        local ok, problem = pcall(one.close, one)
        problems[#problems + 1] = not ok and problem or nil
    end
    self.sim:close()
    if #problems > 0 then
        error(table.concat(problems, "\n"), 2)
    end
end

return gateway_world
