-- Measures dropped objects: makes pods of some 7 KB, reads three fields of each, drops it, and
-- prints how many existed at once, and the CPU time for each.
-- Usage: garbage.lua [MEGABYTES that the script keeps in tables] [PODS]
local core = require "kubelua.core"

local kept, count = tonumber(arg[1] or 0), tonumber(arg[2] or 50000)

local function pod_of(size)
    local containers = {}
    for i = 1, 12 do
        containers[i] = string.format('{"name":"c%d","image":"registry.example.com/web/c%d:1.2.3",'
            .. '"env":[{"name":"A","value":"%s"}],"ports":[{"containerPort":%d}]}', i, i,
            ("x"):rep(math.floor(size / 24)), 8000 + i)
    end
    return '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"web","uid":"u",'
        .. '"annotations":{"a":"' .. ("y"):rep(math.floor(size / 4)) .. '"}},'
        .. '"spec":{"nodeName":"n1","containers":[' .. table.concat(containers, ",") .. ']},'
        .. '"status":{"phase":"Running"}}'
end

local function keep(bytes)
    local tables = {}
    collectgarbage()
    local begin = collectgarbage("count")
    while (collectgarbage("count") - begin) * 1024 < bytes do
        tables[#tables + 1] = { #tables, tostring(#tables) }
    end
    collectgarbage()
    return tables
end

local pod = pod_of(7000)
local tables = keep(kept * 1024 * 1024)
local most, sum, since = 0, 0, os.clock()
for i = 1, count do
    local object = core.object(pod)
    sum = sum + #object.metadata.name + #object.status.phase + #object.spec.nodeName
    if i % 10 == 0 then
        most = math.max(most, core.live().objects)
    end
end
local used = os.clock() - since
assert(sum == count * 10 and #tables >= 0)
print(string.format("%d bytes of JSON, %d MB kept: %d objects at once, %.2f us each", #pod, kept,
    most, used / count * 1e6))
