-- Serves the routes and Ingresses of your cluster on this machine, and asks for each of their
-- hosts. Nothing is written to the cluster. Start it with examples/gateway/run --cluster.
local source = os.getenv("EXAMPLE_SOURCE")
package.path = source .. "/../nginx/?.lua;" .. package.path
local conf = require "resty.kubelua.gateway.conf"
local kubelua = require "kubelua"
local machine = require "machine"

local PORT = tonumber(os.getenv("EXAMPLE_PORT"))
local client = assert(kubelua.connect())
local folder = machine.folder
local text = conf.text {
    modules = os.getenv("EXAMPLE_MODULES"), lua_path = os.getenv("EXAMPLE_LUA_PATH"),
    lua_cpath = os.getenv("EXAMPLE_LUA_CPATH"), files = os.getenv("EXAMPLE_GATEWAY_FILES"),
    ports = { PORT }, tls_ports = {},
    named = { [PORT] = 80 }, address = "127.0.0.1", admin = "127.0.0.1:" .. PORT + 1,
    main = ("pid %s/nginx.pid; error_log %s/error.log info;"):format(folder, folder),
    http = ([[access_log off; client_body_temp_path @/body;
        proxy_temp_path @/proxy; fastcgi_temp_path @/fastcgi; uwsgi_temp_path @/uwsgi;
        scgi_temp_path @/scgi;]]):gsub("@", folder),
    options = "nginx = true, status = false, secrets = false",
}
-- Pods that this machine does not reach are told soon.
text = text:gsub("connect_timeout 5s", "connect_timeout 2s")
local path = machine.write("nginx.conf", text, {})
assert(kubelua.exec(machine.nginx { "-c", path, "-p", folder }))

local function ask(host)
    local reply, message, _, refused = kubelua.http("http://" .. host .. "/",
        { proxy_url = "http://127.0.0.1:" .. PORT, timeout = 20 })
    reply = reply or refused
    return reply and reply.status, message
end

local HINT = [[
502 and 504: this machine does not reach the pods' addresses. With kind on Linux, add a way to
them, which leads over the node:
  node=$(kubectl get nodes -o jsonpath='{.items[0].status.addresses[0].address}')
  ip route add 10.244.0.0/16 via $node
Elsewhere let the gateway run in the cluster: docs/MIGRATE.md, from step 2.]]

machine.wait_for_answer("nginx has read the cluster",
    "http://127.0.0.1:" .. PORT + 1 .. "/readyz")

local hosts, is_far = {}, false
local function add(kind, object, host)
    hosts[#hosts + 1] = { host = host:gsub("^%*", "any"), of = kind .. " " .. object.key }
end
for _, object in ipairs(assert(client:list("ingresses.networking.k8s.io"))) do
    for _, rule in kubelua.ipairs(object:get("spec.rules") or {}) do
        if rule.host then add("Ingress", object, rule.host) end
    end
end
for _, object in ipairs(client:list("httproutes.gateway.networking.k8s.io") or {}) do
    for _, host in kubelua.ipairs(object:get("spec.hostnames") or {}) do
        add("HTTPRoute", object, host)
    end
end
print("nginx listens on 127.0.0.1:" .. PORT)
for _, found in ipairs(hosts) do
    local status, message = ask(found.host)
    print(("%-40s %s  %s"):format(found.host .. "/", status or message, found.of))
    is_far = is_far or status == 502 or status == 504
end
print(is_far and HINT or #hosts .. " hosts")
assert(kubelua.exec(machine.nginx { "-c", path, "-p", folder, "-s", "quit" }))
kubelua.stop()
os.exit(0)
