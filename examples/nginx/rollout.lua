-- A Deployment rolls from shop:1 to shop:2 behind nginx, under load; no request may fail.
-- Start it with examples/nginx/run.
package.path = os.getenv("EXAMPLE_SOURCE") .. "/?.lua;" .. package.path
local kubelua = require "kubelua"
local machine = require "machine"
local pods = require "pods"

local PORT, POD_PORT = tonumber(os.getenv("EXAMPLE_PORT")), tonumber(os.getenv("EXAMPLE_POD_PORT"))
local cluster = assert(require("kubelua.sim").new())
local url = assert(cluster:listen { address = "127.0.0.1", port = 0 })
local client = assert(cluster:connect())
pods.make_nodes(cluster)
pods.run(client, POD_PORT)
assert(require("kubelua.sim.controllers").start(client, { start_seconds = 0.2, stop_seconds = 1 }))

local function roll_out(image)
    local labels = { app = "shop" }
    assert(cluster:apply { apiVersion = "apps/v1", kind = "Deployment",
        metadata = { name = "shop", namespace = "default" },
        spec = { replicas = 3, selector = { matchLabels = labels }, template = {
            metadata = { labels = labels },
            spec = { containers = { { name = "shop", image = image } } } } } })
    assert(cluster:wait("deployments", "default/shop", function(found)
        local status = found.status
        return status and status.observedGeneration == found.metadata.generation
            and status.updatedReplicas == 3 and status.replicas == 3
            and status.availableReplicas == 3
    end, 30))
end

assert(cluster:apply { apiVersion = "v1", kind = "Service",
    metadata = { name = "shop", namespace = "default" },
    spec = { selector = { app = "shop" }, ports = { { name = "http", port = POD_PORT } } } })
roll_out("shop:1")
print("3 pods of shop:1; nginx starts on port " .. PORT)
local conf = machine.write("nginx.conf", machine.read("nginx.conf"), { server = url, port = PORT })
assert(kubelua.exec(machine.nginx { "-c", conf, "-p", machine.folder }))

local answers, is_over, users = {}, false, {}
local gate = assert(kubelua.connect { server = "http://127.0.0.1:" .. PORT })
for i = 1, 8 do
    users[i] = kubelua.spawn(function()
        while not is_over do
            local reply, message, code = gate:request { path = "/" }
            local answer = reply and reply.body:match("[^\n]*") or code .. ": " .. message
            answers[answer] = (answers[answer] or 0) + 1
        end
    end)
end
kubelua.sleep(1)
print("shop:2 rolls out")
roll_out("shop:2")
kubelua.sleep(1)
is_over = true
for _, user in ipairs(users) do user:wait(10) end
assert(kubelua.exec(machine.nginx { "-c", conf, "-p", machine.folder, "-s", "quit" }))
local failed = 0
for answer, count in pairs(answers) do
    print(string.format("%6d requests: %s", count, answer))
    failed = failed + (answer:match("^shop:%d$") and 0 or count)
end
print(failed .. " requests failed")
cluster:close()
kubelua.stop()
os.exit(failed == 0 and 0 or 1)
