-- Serves an HTTPRoute and an Ingress of a simulated cluster, or of the real API server that
-- `run --real` has started; asks nginx for their paths, and prints the answers and what the gateway
-- wrote to the objects. Start it with examples/gateway/run.
local source = os.getenv("EXAMPLE_SOURCE")
package.path = source .. "/../nginx/?.lua;" .. package.path
local conf = require "resty.kubelua.gateway.conf"
local kubelua = require "kubelua"
local machine = require "machine"
local pods = require "pods"

local PORT, POD_PORT = tonumber(os.getenv("EXAMPLE_PORT")), tonumber(os.getenv("EXAMPLE_POD_PORT"))
local real = os.getenv("EXAMPLE_KUBECONFIG") -- of an API server that has the objects
local cluster = not real and assert(require("kubelua.sim").new()) or nil
local client = cluster and assert(cluster:connect())
    or assert(kubelua.connect { kubeconfig = real })

-- A Deployment of two pods, and its Service.
local function deploy(name)
    local labels = { app = name }
    assert(client:apply { apiVersion = "v1", kind = "Service",
        metadata = { name = name, namespace = "default" },
        spec = { selector = labels, ports = { { port = 80, targetPort = POD_PORT } } } })
    assert(client:apply { apiVersion = "apps/v1", kind = "Deployment",
        metadata = { name = name, namespace = "default" },
        spec = { replicas = 2, selector = { matchLabels = labels }, template = {
            metadata = { labels = labels },
            spec = { containers = { { name = "web", image = name } } } } } })
    assert(client:wait("deployments", "default/" .. name, function(found)
        return found.status and found.status.availableReplicas == 2
    end, machine.LIMIT))
    pods.wait(name, 2)
end

pods.run(client, POD_PORT)
assert(require("kubelua.sim.controllers").start(client,
    { nodes = 3, start_seconds = 0.2, stop_seconds = 1 }))
if cluster then
    assert(cluster:load(machine.read("crds.yaml")))
    assert(cluster:load(machine.read("objects.yaml")))
end
deploy("shop")
deploy("shop-new")

-- The nginx.conf that `kubelua gateway init` prints, with files in a folder of its own. Simulated
-- pods are at 127.20.*, as no API server takes such addresses.
local folder = machine.folder
local path = machine.write("nginx.conf", conf.text {
    modules = os.getenv("EXAMPLE_MODULES"), lua_path = os.getenv("EXAMPLE_LUA_PATH"),
    lua_cpath = os.getenv("EXAMPLE_LUA_CPATH"), files = os.getenv("EXAMPLE_GATEWAY_FILES"),
    ports = { PORT }, tls_ports = {},
    named = { [PORT] = 80 }, address = "127.0.0.1", admin = "127.0.0.1:" .. PORT + 1,
    main = ("pid %s/nginx.pid; error_log %s/error.log info;"):format(folder, folder),
    http = ([[access_log off; client_body_temp_path @/body; proxy_temp_path @/proxy;
        fastcgi_temp_path @/fastcgi; uwsgi_temp_path @/uwsgi; scgi_temp_path @/scgi;]])
        :gsub("@", folder),
    options = ([[connect = { %s }, nginx = true, addresses = { "192.0.2.1" },
        scripts = { namespaces = { "default" } },
        peer = function(host) return (host:gsub("^10%%.244%%.", "127.20.")) end]]):format(
        cluster and ("server = %q"):format(assert(cluster:listen()))
            or ("kubeconfig = %q"):format(real)),
}, {})
assert(kubelua.exec(machine.nginx { "-c", path, "-p", folder }))

-- Until then, nginx answers 404 or 503.
machine.wait_for_answer("nginx has read the cluster",
    "http://127.0.0.1:" .. PORT + 1 .. "/readyz")

-- nginx is asked as if it were a proxy: so the names need not be in the DNS.
local function ask(host, target, headers, method)
    local reply, message, _, refused = kubelua.http("http://" .. host .. target,
        { headers = headers, method = method, proxy_url = "http://127.0.0.1:" .. PORT })
    reply = reply or refused
    return reply and reply.status .. " " .. (reply.headers.location or reply.body:match("[^\n]*"))
        or message
end

-- How many of 40 requests each answer has.
local function count_answers(host, target)
    local counts, lines = {}, {}
    for _ = 1, 40 do
        local answer = ask(host, target)
        counts[answer] = (counts[answer] or 0) + 1
    end
    for answer, count in pairs(counts) do
        lines[#lines + 1] = ("%d x %s"):format(count, answer)
    end
    table.sort(lines)
    return table.concat(lines, ", ")
end

local shares = count_answers("shop.example.com", "/")
print("shop.example.com/          ", shares)
print("  with X-Canary: yes       ", ask("shop.example.com", "/", { ["X-Canary"] = "yes" }))
print("shop.example.com/old/a     ", ask("shop.example.com", "/old/a", nil, "POST"))
print("shop.example.com/admin     ", ask("shop.example.com", "/admin"))
print("  with Cookie: user=ann    ", ask("shop.example.com", "/admin", { Cookie = "user=ann" }))
print("api.example.com/v1/a       ", ask("api.example.com", "/v1/a"))
print("other.example.com/         ", ask("other.example.com", "/"))

local route = assert(client:wait("httproutes", "default/shop", function(found)
    return found.status and found.status.parents
end, machine.LIMIT))
for _, condition in kubelua.ipairs(route.status.parents[1].conditions) do
    print(("HTTPRoute default/shop: %s is %s"):format(condition.type, condition.status))
end
local ingress = assert(client:wait("ingresses", "default/api", function(found)
    return kubelua.get(found, "status.loadBalancer.ingress")
end, machine.LIMIT))
print("Ingress default/api: at " .. ingress.status.loadBalancer.ingress[1].ip)
for _, event in ipairs(assert(client:list("events", { namespace = "default" }))) do
    if event:get("involvedObject.kind") == "Ingress" then
        print("  " .. event.type .. ": " .. event.message)
    end
end
assert(kubelua.exec(machine.nginx { "-c", path, "-p", folder, "-s", "quit" }))
if cluster then cluster:close() end
kubelua.stop()
if not shares:find("^%d+ x 200 shop, %d+ x 200 shop%-new$") then
    io.stderr:write("the 40 requests have other answers than 200 of shop and shop-new\n")
    os.exit(1)
end
os.exit(0)
