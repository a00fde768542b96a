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

conformance.describe("A real API server", function(it, cluster)
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
