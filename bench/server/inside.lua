-- A script with a simulated cluster in its own process, for bench/server/run. Usage: kubelua run
-- inside.lua WRITES; prints a line of JSON: seconds from the start to the first answer; seconds for
-- so many creates, updates and deletes through a client, without a socket; and their CPU seconds.
local core = require "kubelua.core"
local Sim = require "kubelua.sim"

local PATH = "/api/v1/namespaces/default/configmaps"

local count = tonumber(arg[1])

local begun = core.now()
local sim = assert(Sim.new())
assert(sim:call { method = "GET", target = "/api/v1/namespaces/default" } == 200)
local first = core.now() - begun

local client = assert(sim:connect())

local function write(method, wanted, target, body)
    local from = core.now()
    for number = 1, count do
        local reply = assert(client:request { method = method, path = target:format(number),
            body = body and body:format(number, number) })
        assert(reply.status == wanted, reply.status)
    end
    return core.now() - from
end

local cpu = os.clock()
local create = write("POST", 201, PATH, '{"kind":"ConfigMap","apiVersion":"v1","metadata":'
    .. '{"name":"load-%d","labels":{"app":"load"}},"data":{"key":"value %d"}}')
local update = write("PUT", 200, PATH .. "/load-%d", '{"kind":"ConfigMap","apiVersion":"v1",'
    .. '"metadata":{"name":"load-%d"},"data":{"key":"another %d"}}')
local delete = write("DELETE", 200, PATH .. "/load-%d")

print(string.format('{"first":%.6f,"count":%d,"create":%.6f,"update":%.6f,"delete":%.6f,'
    .. '"cpu":%.6f}', first, count, create, update, delete, os.clock() - cpu))
sim:close()
