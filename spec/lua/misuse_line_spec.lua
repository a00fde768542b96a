-- A mistake of the script raises an error with the script's own line, whichever function notices
-- it.
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"

local sim, client, pods, handler

setup(function()
    sim = assert(Sim.new())
    assert(sim:apply {
        apiVersion = "v1", kind = "Pod", metadata = { name = "a", namespace = "web" },
    })
    client = assert(sim:connect())
    pods = assert(client:informer { "pods", indexes = {
        node = "spec.nodeName", owner = function() end,
    } })
    handler = assert(pods:on { add = function() end })
    assert(pods:wait_synced(10))
end)

teardown(function()
    client:close()
    sim:close()
end)

local function script(text)
    return assert((rawget(_G, "loadstring") or load)(text, "@the/script.lua"))
end

-- Runs a text as the fourth line of a script; returns its error.
local function error_of(line)
    local chunk = script("local kubelua, client, pods, handler = ...\n"
        .. "local pod = pods:get('web/a')\n\n" .. line)
    local ok, message = pcall(chunk, kubelua, client, pods, handler)
    assert.is_false(ok, line)
    return message
end

describe("misuse is raised at the script's line", function()
    for _, line in ipairs {
        "kubelua.connect { sever = 'x' }",
        "kubelua.connect { token = 5 }",
        "kubelua.connect { sim = 5 }",
        "kubelua.connect('x')",
        "kubelua.run('soon')",
        "kubelua.step(-1)",
        "kubelua.sleep()",
        "kubelua.spawn(nil)",
        "kubelua.every(0, print)",
        "kubelua.log('loud', 'x')",
        "kubelua.pairs(5)",
        "kubelua.json(print)",
        "kubelua.json({ 1, nil, 3 })",
        "kubelua.get(pod, '[')",
        "client:informer { 'pods', namespace = {} }",
        "client:informer { 'pods', namespace = { 'web', '*' } }",
        "client:informer { 'pods', namespace = { 'web', 'no_such' } }",
        "client:informer { 'pods', namespace = { web = true } }",
        "client:informer { 'pods', namespace = { 5 } }",
        "client:informer { 'pods', namespace = { 'web', 'db' } }:by('nodes', 'n1')",
        "client:informer { 'pods', namespace = { 'web', 'db' } }:get()",
        "client:informer { 'pods', namespace = { 'web', 'db' } }:on {}",
        "client:informer { 'pods', namespace = { 'web', 'db' } }:index('a', '.b')",
        "client:informer { 'pods', namespace = { 'web', 'db' } }.count()",
        "client:informer { 'pods', namespace = { 'web', 'db' } }:resource_version('x')",
        "client:informer { 'pods', metadata = true, indexes = { node = 'spec.nodeName' } }",
        "kubelua.decode(nil)",
        "kubelua.base64({})",
        "kubelua.unbase64(5)",
        "kubelua.hash()",
        "kubelua.hash({ f = print })",
        "kubelua.hash({ '\\255' })",
        "kubelua.hash({ [{}] = 1 })",
        "local t = {} t.t = t kubelua.hash(t)",
        "kubelua.time(5)",
        "kubelua.timestamp('soon')",
        "kubelua.timestamp(0 / 0)",
        "kubelua.timestamp(1e12)",
        "kubelua.timestamp(0, 3)",
        "kubelua.condition(nil, 'Ready')",
        "kubelua.condition(pod)",
        "client:informer { 'pods', lables = 'x' }",
        "client:informer {}",
        "client:informer { 'pods', namespace = '../x' }",
        "client:informer { 'pods', resync = -1 }",
        "client:informer { 'pods', page_size = 1.5 }",
        "client:informer { 'pods', indexes = { x = 5 } }",
        "client:informer { 'pods', indexes = { x = 'a[' } }",
        "client.informer('pods')",
        "client:request {}",
        "client:request { path = '/', body = 5 }",
        "pods:on {}",
        "pods:on { add = 5 }",
        "pods:on { added = print }",
        "pods:on { add = print, resync = -1 }",
        "pods.on { add = print }",
        "pods:get(nil)",
        "pods.get('web/a')",
        "pods:list { label = 'x' }",
        "pods:list { labels = 5 }",
        "pods:list(5)",
        "pods:by('nod', 'x')",
        "pods:by(nil, 'x')",
        "pods:values('nod')",
        "pods:index('x', 5)",
        "pods:index('x', 'a[')",
        "pods:index(nil, 'a')",
        "pods:wait_synced('soon')",
        "pods.count()",
        "handler.remove(pods)",
        "pod.name = 'b'",
        "pod.metadata.name = 'b'",
        "pod:get('a[')",
        "pod.get('a')",
    } do
        it(line, function()
            assert.matches("^the/script.lua:4: ", error_of(line))
        end)
    end

    it("in a handler, in a spawned function and in a coroutine too", function()
        local chunk = script([[
            local kubelua, pods, report = ...
            kubelua.spawn(function() report(pcall(pods.by, pods, "nod", "x")) end)
            pods:on { add = function() report(pcall(pods.on, pods, {})) end }
            coroutine.wrap(function() report(pcall(pods.values, pods, "nod")) end)()
        ]])
        local messages = {}
        chunk(kubelua, pods, function(_, message) messages[#messages + 1] = message end)
        while #messages < 3 do
            kubelua.step(1)
        end
        table.sort(messages)
        for i, message in ipairs(messages) do
            assert.matches("^the/script.lua:" .. i + 1 .. ": ", message)
        end
    end)
end)
