-- A simulated cluster with pods in it on a port, for bench/server/run, until it is killed.
-- Usage: kubelua run serve.lua PODS; prints a line of JSON: url, seconds to load, bytes loaded,
-- and seconds from nothing to the first answer of an empty cluster in this process.
local core = require "kubelua.core"
local loop = require "kubelua.loop"
local Sim = require "kubelua.sim"

local FIELDS = '{"f:metadata":{"f:labels":{".":{},"f:app":{}}},"f:spec":{"f:containers":{%s}}}'

-- A pod of some 7 KB, as controllers and kubelets leave them behind.
local function pod(number)
    local containers, owned = {}, {}
    for i = 1, 4 do
        containers[i] = string.format(
            '{"name":"c%d","image":"registry.example.com/team/service-%d:v1.%d","env":[%s],'
            .. '"resources":{"limits":{"cpu":"500m","memory":"256Mi"}},"imagePullPolicy":'
            .. '"IfNotPresent","terminationMessagePath":"/dev/termination-log"}', i, i, number,
            ('{"name":"SETTING_%d","value":"some value of a setting"},'):rep(12):gsub("%%d", "x")
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

local begun = core.now()
local sim = assert(Sim.new())
assert(sim:call { method = "GET", target = "/api/v1/namespaces/default" } == 200)
local first = core.now() - begun
local bytes = 0
begun = core.now()
for number = 1, tonumber(arg[1]) do
    local text = pod(number)
    bytes = bytes + #text
    assert(sim:load(text))
end
local url = assert(sim:listen())
print(string.format('{"url":"%s","seconds":%.3f,"bytes":%d,"first":%.6f}', url,
    core.now() - begun, bytes, first))
io.stdout:flush()
loop.run()
