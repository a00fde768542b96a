-- What only a real kube-apiserver does: it is killed and comes back with an empty watch cache, its
-- etcd is compacted, it ends watches and connections on its own.
local conformance = require "conformance"
local core = require "kubelua.core"
local eventually = require "eventually"
local kubelua = require "kubelua"

if not (os.getenv("KUBELUA_BACKEND") or ""):find("real", 1, true) then
    return
end

-- The server's objects as lines "key uid version", sorted.
local function truth(scene)
    local lines = {}
    for _, object in ipairs((scene.admin:list("configmaps", scene.namespace))) do
        local metadata = object.metadata
        lines[#lines + 1] = metadata.namespace .. "/" .. metadata.name .. " " .. metadata.uid
            .. " " .. metadata.resourceVersion
    end
    table.sort(lines)
    return lines
end

local function cache_of(informer)
    local lines = {}
    for _, object in ipairs(informer:list()) do
        lines[#lines + 1] = object.key .. " " .. object.uid .. " " .. object.resource_version
    end
    table.sort(lines)
    return lines
end

-- Makes random changes of twenty keys for so many seconds; `values` gets what exists, `each(i)`
-- runs after each change.
local function churn(scene, values, seconds, each)
    local deadline = core.now() + seconds
    local i = 0
    while core.now() < deadline do
        i = i + 1
        local name = "k" .. math.random(20)
        local dice = math.random(4)
        if not values[name] then
            scene:create(name, tostring(i))
        elseif dice == 1 then
            scene:delete(name)
        elseif dice == 2 then
            scene:recreate(name, tostring(i))
        else
            scene:update(name, tostring(i))
        end
        values[name] = not values[name] or dice ~= 1
        kubelua.step(0)
        if each then
            each(i)
        end
    end
end

local function until_it_knows_the_truth(scene, watched)
    scene:create("last-" .. #truth(scene))
    local expected = truth(scene)
    eventually(function()
        return pcall(assert.same, expected, watched.history:believes())
    end, function()
        return "the handler knows what the server has; it believes\n"
            .. table.concat(watched.history:believes(), "\n") .. "\nthe server has\n"
            .. table.concat(expected, "\n")
    end)
    assert.same(expected, cache_of(watched.informer))
    assert.same({}, watched.history.breaches)
end

-- Every object of the server, of all kinds: lines with its version, sorted. The server itself
-- renews its Leases, and makes up componentstatuses at each request.
local function list_everything(client)
    local function read(path)
        return kubelua.decode(assert(client:request { path = path }).body)
    end
    local roots, lines = { "/api/v1" }, {}
    for _, group in ipairs(read("/apis").groups) do
        roots[#roots + 1] = "/apis/" .. group.preferredVersion.groupVersion
    end
    for _, root in ipairs(roots) do
        for _, resource in ipairs(read(root).resources) do
            local verbs = table.concat(resource.verbs, " ")
            if verbs:find("list", 1, true) and resource.name ~= "componentstatuses" then
                for _, object in ipairs(read(root .. "/" .. resource.name).items) do
                    local metadata = object.metadata
                    lines[#lines + 1] = metadata.namespace ~= "kube-system" and table.concat({
                        root, resource.name, metadata.namespace or "", metadata.name,
                        metadata.uid, metadata.resourceVersion }, " ") or nil
                end
            end
        end
    end
    table.sort(lines)
    return lines
end

-- Writes of every kind, for the namespace arg[1]. Each must succeed but for the last ones.
local WRITES = [[
local ns, c = arg[1], kubelua.connect()
local function metadata(name) return { name = name, namespace = ns } end
local pod = { apiVersion = "v1", kind = "Pod", metadata = metadata("p2"),
    spec = { containers = { { name = "c", image = "i" } } } }
assert(c:create(pod))
assert(c:patch(pod, { metadata = { labels = { a = "b" } } }))
assert(c:create { apiVersion = "v1", kind = "Secret", metadata = { generateName = "x-",
    namespace = ns }, stringData = { k = "v" } })
assert(c:apply { apiVersion = "v1", kind = "ConfigMap", metadata = metadata("a"),
    data = { more = "1" } })
local map = kubelua.table(assert(c:get("configmaps", ns .. "/a")))
map.data.v = "9"
assert(c:update(map))
for kind, patch in pairs { merge = { data = { m = "1" } }, strategic = { data = { s = "1" } },
    json = { { op = "add", path = "/data/j", value = "1" } } } do
    assert(c:patch("configmaps", ns .. "/a", patch, { type = kind }))
end
assert(c:scale("deployments", ns .. "/d", 7))
assert(c:patch("deployments", ns .. "/d", { status = { replicas = 3 } },
    { subresource = "status" }))
assert(c:create { apiVersion = "v1", kind = "Binding", metadata = metadata("p"),
    target = { apiVersion = "v1", kind = "Node", name = "n1" } })
assert(c:evict(ns .. "/p"))
assert(c:delete("pods", ns .. "/p", { grace = 0 }))
assert(c:delete_all("secrets", { namespace = ns }))
assert(c:delete_all("configmaps", { namespace = "*" }))
assert(c:request { method = "DELETE", path = "/api/v1/namespaces/" .. ns .. "/pods" })
assert(c:delete("namespaces", ns))
assert(c:create { apiVersion = "v1", kind = "Namespace", metadata = { name = "fresh" } })
assert(c:create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "y",
    namespace = "fresh" } })
assert(c:request { method = "POST", path = "/api/v1/namespaces/" .. ns
    .. "/serviceaccounts/default/token", body = { spec = { expirationSeconds = 600 } } })
c:event(assert(c:get("namespaces", ns)), "Normal", "Seen", "hello")
kubelua.controller { "deployments", namespace = ns, name = "real", leader = "real",
    owns = { "services" }, finalizer = "example.com/real", finalize = function() end,
    reconcile = function(deployment, run)
        assert(run:apply { apiVersion = "v1", kind = "Service",
            metadata = { name = deployment.name }, spec = { ports = { { port = 80 } } } })
        run:event("Normal", "Reconciled", "once")
        print("reconciled", deployment.name)
    end }
]]

conformance.describe("A real API server", function(it, cluster)
    it("has the same objects after a dry run of every write, as typed", function(scene)
        local client = assert(kubelua.connect { kubeconfig = cluster.folder .. "/kubeconfig" })
        local ns, path = scene.namespace, os.tmpname()
        local file = assert(io.open(path, "w"))
        file:write(WRITES)
        file:close()
        scene:create("a", "1")
        local pod = { containers = { { name = "c", image = "i" } } }
        assert(client:create { apiVersion = "v1", kind = "Pod", spec = pod,
            metadata = { name = "p", namespace = ns } })
        assert(client:create { apiVersion = "v1", kind = "ServiceAccount",
            metadata = { name = "default", namespace = ns } })
        assert(client:create { apiVersion = "v1", kind = "Secret",
            metadata = { name = "s", namespace = ns } })
        assert(client:create { apiVersion = "apps/v1", kind = "Deployment",
            metadata = { name = "d", namespace = ns }, spec = { selector = {
                matchLabels = { a = "b" } }, template = { spec = pod,
                metadata = { labels = { a = "b" } } } } })
        local before = list_everything(client)
        local pipe = assert(io.popen(string.format("KUBELUA_INTERPRETER=%s bin/kubelua run "
            .. "--dry-run --for 60 --kubeconfig '%s' '%s' '%s' 2>&1; echo status=$?",
            jit and "luajit" or "lua5.4", cluster.folder .. "/kubeconfig", path, ns)))
        local said = pipe:read("*a")
        pipe:close()
        os.remove(path)
        assert.same(before, list_everything(client))
        assert.equal("2", said:match("status=(%d+)\n$"), said)
        for _, text in ipairs { "+++ dry-run/v1.Pod." .. ns .. ".p2\tcreate", "\n+  v: \"9\"\n",
            "+  replicas: 7\n", "+  nodeName: n1\n",
            "--- live/v1.Namespace." .. ns .. "\n+++ /dev/null",
            "+++ dry-run/v1.ConfigMap.fresh.y\tcreate", "\n+  - example.com/real\n",
            "# Event: Normal Seen: Namespace " .. ns, "reconciled\td\n" } do
            assert.truthy(said:find(text, 1, true), text .. " is not in\n" .. said)
        end
        client:close()
    end)

    it("that is killed twice while objects are recreated never gets UIDs mixed up",
        function(scene)
            local watched = scene:record()
            local second = scene:record(watched.informer, { backlog = 3 })
            watched:sees { "synced" }
            local values = {}
            churn(scene, values, 2)
            for _ = 1, 2 do
                cluster:refuse(true)
                cluster:crash()
                churn(scene, values, 1)
                cluster:refuse(false)
                churn(scene, values, 2, function(i)
                    if i % 100 == 0 then
                        cluster:cut()
                    end
                end)
            end
            until_it_knows_the_truth(scene, watched)
            until_it_knows_the_truth(scene, second)
            watched:forget()
            second:forget()
        end)

    it("that is killed while the informer is away answers 410, and the informer lists again",
        function(scene)
            scene:create("a", "1")
            scene:create("b", "1")
            local watched = scene:record()
            watched:starts_with { "add a=1 initial", "add b=1 initial" }
            scene:disconnect()
            scene:recreate("a", "2")
            scene:delete("b")
            cluster:crash() -- the history that it remembers begins after that
            scene:reconnect()
            watched:sees_all { "delete a=1 unknown", "delete b=1 unknown", "add a=2" }
        end)

    it("that is killed under a connected informer is watched again when it is back",
        function(scene)
            local before = scene:create("a", "1")
            local watched = scene:record()
            watched:starts_with { "add a=1 initial" }
            cluster:crash()
            local after = scene:recreate("a", "2")
            assert.not_equal(before.metadata.uid, after.metadata.uid)
            eventually(function() return #watched.seen == 2 end, "a delete and an add")
            assert.truthy(watched.seen[1]:find("^delete a=1"))
            assert.equal("add a=2", watched.seen[2])
            watched:forget()
        end)

    it("that goes silent is noticed, and its watch made again", function(scene)
        local watched = scene:record(scene:informer { idle_timeout = 2 })
        watched:sees { "synced" }
        cluster:freeze()
        scene:create("a")
        local before = watched.informer:status().watches
        eventually(function()
            return watched.informer:status().age and watched.informer:status().age > 2
        end, "silence of two seconds")
        cluster:thaw()
        eventually(function()
            return watched.informer:status().watches > before or #watched.seen > 0
        end, "a new watch, or the event")
        watched:sees { "add a=1" }
    end)

    it("that restarts in order is watched again", function(scene)
        local watched = scene:record()
        watched:sees { "synced" }
        cluster:restart()
        scene:create("a")
        watched:sees { "add a=1" }
    end)

    it("whose etcd was compacted under a disconnected informer makes it list again",
        function(scene)
            -- Without a watch cache, etcd itself answers a watch: 410 for compacted versions.
            cluster:serve("--watch-cache-sizes=configmaps#0")
            scene:create("a", "1")
            scene:create("b", "1")
            local watched = scene:record()
            watched:starts_with { "add a=1 initial", "add b=1 initial" }
            scene:disconnect()
            scene:recreate("a", "2")
            scene:delete("b")
            scene:create("c")
            cluster:control("compact")
            local lists = watched.informer:status().lists
            scene:reconnect()
            watched:sees_all { "delete a=1 unknown", "delete b=1 unknown", "add a=2", "add c=1" }
            assert.is_true(watched.informer:status().lists > lists)
        end)

    it("that sends GOAWAY loses neither a request nor an event", function(scene)
        cluster:serve("--goaway-chance=0.02")
        local client = scene:connect()
        local watched = scene:record()
        watched:sees { "synced" }
        for i = 1, 150 do
            assert.equal(200, assert(client:request { path = "/version?i=" .. i }).status)
        end
        local lists = watched.informer:status().lists
        scene:create("a")
        watched:sees { "add a=1" }
        assert.equal(lists, watched.informer:status().lists)
    end)

    it("without streaming lists is listed in pages, and remembered to be so", function(scene)
        cluster:serve("--feature-gates=WatchList=false")
        scene:create("a", "1")
        local watched = scene:record()
        watched:starts_with { "add a=1 initial" }
        scene:update("a", "2")
        watched:sees { "update a 1>2" }
    end)
end)
