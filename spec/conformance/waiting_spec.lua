-- Informers of what does not exist yet, or cannot be reached now: they wait for it, say why, and go
-- on by themselves.
local conformance = require "conformance"
local eventually = require "eventually"

-- The message of the next error that a recorder gets.
local function next_error(watched)
    local count = #watched.errors
    eventually(function() return #watched.errors > count end, "an error is told")
    return watched.errors[count + 1]
end

conformance.describe("Waiting", function(it, cluster)
    it("for a server that is not there yet ends when it is", function(scene)
        scene:create("a")
        cluster:refuse(true)
        local watched = scene:record()
        local ok, message, code = watched.informer:wait_synced(0.5)
        assert.is_nil(ok)
        assert.equal("timeout", code)
        assert.truthy(message:find("refuse") or message:find("connect") or message:find("reset"),
            message)
        cluster:refuse(false)
        watched:starts_with { "add a=1 initial" }
    end)

    it("for the first list says in wait_synced what it waits for", function(scene)
        local informer = scene:informer { "nosuchthings" }
        local ok, message, code = informer:wait_synced(0.5)
        assert.is_nil(ok)
        assert.equal("timeout", code)
        assert.truthy(message:find("nosuchthings", 1, true), message)
    end)

    it("for a misspelled kind names the nearest ones", function(scene)
        local watched = scene:record(scene:informer { "confgmaps" })
        local problem = next_error(watched)
        assert.equal("unknown_kind", problem.code)
        assert.truthy(problem.message:find("confgmaps", 1, true), problem.message)
        assert.truthy(problem.message:find("configmaps", 1, true), problem.message)
    end)

    it("for a CRD ends by itself when it is installed", function(scene)
        local group = scene.name .. ".example.com"
        local watched = scene:record(scene:informer { "widgets." .. group })
        local problem = next_error(watched)
        assert.equal("unknown_kind", problem.code)
        assert.truthy(problem.message:find("widgets." .. group, 1, true), problem.message)
        scene.admin:define("widgets", "Widget", group)
        eventually(function() return watched.informer:has_synced() end, "the informer starts")
        watched:sees { "synced" }
        scene.admin:create("widgets", scene.namespace, { metadata = { name = "w" } })
        watched:sees { "add w" }
        assert.equal("Widget", watched.last.kind)
        assert.equal(group .. "/v1", watched.last.apiVersion)
    end)

    it("for a server that went away reports each reason once", function(scene)
        local watched = scene:record()
        watched:sees { "synced" }
        scene:disconnect()
        local failures = watched.informer:status().failures
        eventually(function()
            return watched.informer:status().failures > failures
        end, "another attempt")
        assert.is_true(#watched.errors >= 1)
        for i = 2, #watched.errors do
            assert.not_equal(watched.errors[i - 1].message, watched.errors[i].message)
        end
        assert.is_true(#watched.errors <= watched.informer:status().failures)
        scene:reconnect()
        scene:create("a")
        watched:sees { "add a=1" }
        eventually(function() return not watched.informer:status().error end, "health again")
    end)

    it("reports the same reason again after a recovery", function(scene)
        local watched = scene:record()
        watched:sees { "synced" }
        for i = 1, 2 do
            local told = #watched.errors
            scene:disconnect()
            eventually(function() return #watched.errors > told end, "outage " .. i .. " is told")
            scene:reconnect()
            scene:create("a" .. i)
            watched:sees { "add a" .. i .. "=1" }
        end
    end)

    it("is reported to handlers added before the failure, not to later ones", function(scene)
        local early = scene:record()
        early:sees { "synced" }
        scene:disconnect()
        eventually(function() return #early.errors > 0 end, "the outage is told")
        scene:reconnect()
        scene:create("a")
        early:sees { "add a=1" }
        local late = scene:record(early.informer)
        late:starts_with { "add a=1 initial" }
        assert.same({}, late.errors)
    end)

    if cluster.fails_on_demand then
        it("reports a repeated failure of the server once", function(scene)
            cluster.sim:fail { verb = "watch", count = 2, status = 500 }
            local watched = scene:record()
            watched:sees { "synced" }
            local told = 0
            for _, problem in ipairs(watched.errors) do
                told = told + (problem.code == "internal" and 1 or 0)
            end
            assert.equal(1, told)
        end)

        it("goes on with the watch, not a list, when the watch was refused", function(scene)
            local watched = scene:record()
            watched:sees { "synced" }
            local lists = watched.informer:status().lists
            cluster.sim:fail { verb = "watch", count = 1, status = 403 }
            cluster:cut()
            scene:create("a")
            watched:sees { "add a=1" }
            assert.equal(lists, watched.informer:status().lists)
        end)

        it("lasts as long as Retry-After says", function(scene)
            cluster.sim:fail { verb = "watch", count = 1, status = 429, retry_after = 2 }
            local watched = scene:record()
            local seconds = scene.seconds(watched.sees, watched, { "synced" })
            assert.is_true(seconds > 1.8, "after " .. seconds .. " s")
        end)

        it("survives a page that fails half-way", function(scene)
            local expected = {}
            for i = 1, 6 do
                scene:create("a" .. i)
                expected[i] = "add a" .. i .. "=1 initial"
            end
            cluster.sim:fail { verb = "list", count = 1, status = 503 }
            local watched = scene:record(scene:informer { page_size = 2, streaming_list = false })
            watched:starts_with(expected)
        end)
    end

    it("ends at once for what can never work", function(scene)
        local client = scene:connect()
        for _, wrong in ipairs {
            { "configmaps", labels = "app in (" },
            { "configmaps", labels = "=" },
        } do
            local informer, message, code = client:informer(wrong)
            assert.is_nil(informer)
            assert.equal("invalid_argument", code)
            assert.is_string(message)
        end
    end)
end)
