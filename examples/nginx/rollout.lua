-- Rolls a Deployment from shop:1 to shop:2 behind nginx, under load. No request may fail. Start it
-- with examples/nginx/run.
package.path = os.getenv("EXAMPLE_SOURCE") .. "/?.lua;" .. package.path
local kubelua = require "kubelua"
local machine = require "machine"
local pods = require "pods"

local PORT, POD_PORT = tonumber(os.getenv("EXAMPLE_PORT")), tonumber(os.getenv("EXAMPLE_POD_PORT"))
local cluster = assert(require("kubelua.sim").new())
local url = assert(cluster:listen { address = "127.0.0.1", port = 0 })
local client = assert(cluster:connect())
pods.run(client, POD_PORT)
assert(require("kubelua.sim.controllers").start(client,
    { nodes = 3, start_seconds = 0.2, stop_seconds = 1 }))

local roll_out = require("shop")(cluster, POD_PORT)
roll_out("shop:1")
pods.wait("shop:1", 3)
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
