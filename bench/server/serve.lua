-- A simulated cluster with pods in it on a port, for bench/server/run, until it is killed.
-- Usage: kubelua run serve.lua PODS; prints a line of JSON: url, seconds to load, bytes loaded, and
-- what each of them grew the memory of this process by.
local core = require "kubelua.core"
local loop = require "kubelua.loop"
local Sim = require "kubelua.sim"

local FIELDS = '{"f:metadata":{"f:labels":{".":{},"f:app":{}}},"f:spec":{"f:containers":{%s}}}'

-- A pod of some 7.5 KB, as controllers and kubelets leave them behind.
local function pod(number)
    local containers, owned = {}, {}
    for i = 1, 4 do
        containers[i] = string.format(
            '{"name":"c%d","image":"registry.example.com/team/service-%d:v1.%d","env":[%s],'
            .. '"resources":{"limits":{"cpu":"500m","memory":"256Mi"}},"imagePullPolicy":'
            .. '"IfNotPresent","terminationMessagePath":"/dev/termination-log"}', i, i, number,
            ('{"name":"SETTING_%d","value":"some value of a setting"},'):rep(27):gsub("%%d", "x")
            .. '{"name":"LAST","value":"x"}')
        owned[i] = string.format('"k:{\\"name\\":\\"c%d\\"}":{".":{},"f:image":{},"f:name":{}}', i)
    end
    return string.format(
        '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"pod-%06d","namespace":"default",'
        .. '"labels":{"app":"app-%d","pod-template-hash":"5d4f8c7b9"},"managedFields":[{"manager":'
        .. '"kube-controller-manager","operation":"Update","apiVersion":"v1","fieldsType":'
        .. '"FieldsV1","fieldsV1":%s}]},"spec":{"nodeName":"node-%d","containers":[%s]},'
        .. '"status":{"phase":"Running","podIP":"10.1.2.3","hostIP":"10.0.0.1"}}',
        number, number % 100, FIELDS:format(table.concat(owned, ",")), number % 1000,
        table.concat(containers, ","))
end

local function resident()
    collectgarbage()
    for line in io.lines("/proc/self/status") do
        local kilobytes = line:match("^VmRSS:%s*(%d+)")
        if kilobytes then
            return tonumber(kilobytes) * 1024
        end
    end
end

local count = tonumber(arg[1])
local sim = assert(Sim.new())
local before, bytes, making = resident(), 0, 0
local begun = core.now()
for number = 1, count do
    local from = core.now()
    local text = pod(number)
    making = making + core.now() - from
    bytes = bytes + #text
    assert(sim:load(text))
end
local seconds = core.now() - begun - making
local url = assert(sim:listen())
print(string.format('{"url":"%s","seconds":%.3f,"bytes":%d,"resident":%.0f}', url, seconds, bytes,
    (resident() - before) / math.max(1, count)))
io.stdout:flush()
loop.run()
