-- Informers under ordered faults of a port (docs/FAULTS.md): malformed HTTP, an invalid
-- certificate, no listener. Their health names the fault; once it is over, they recover by
-- themselves.
local conformance = require "conformance"
local eventually = require "eventually"

local BROKEN = { "short_length", "long_length", "chunks", "gzip", "no_http" }

local function describe_broken(it, cluster, how)
    it("whose answers are broken by " .. how .. " is requested again", function(scene)
        scene:create("a", "1")
        assert(cluster.sim:garble {
            how = how, verb = "list", resource = "configmaps", namespace = scene.namespace,
        })
        local watched = scene:record(scene:informer { streaming_list = false })
        watched:starts_with { "add a=1 initial" }
        assert.same({}, cluster.sim:faults())
    end)
end

local function describe_certificates(it, cluster)
    for how, said in pairs { expired = "expired", wrong_host = "name" } do
        it("whose certificate is " .. how .. " is not trusted until it is good", function(scene)
            scene:create("a", "1")
            local watched = scene:record()
            watched:starts_with { "add a=1 initial" }
            assert(cluster.sim:certificate { how = how })
            eventually(function()
                local message = watched.informer:status().error
                return message and message:lower():find(said, 1, true)
            end, function()
                return "the error says " .. said .. ", not "
                    .. tostring(watched.informer:status().error)
            end)
            scene:update("a", "2")
            assert(cluster.sim:certificate { how = "good" })
            watched:sees { "update a 1>2" }
        end)
    end
end

local function describe_handshakes(it, cluster)
    it("whose handshakes are slow is waited for", function(scene)
        scene:create("a", "1")
        local watched = scene:record()
        watched:starts_with { "add a=1 initial" }
        assert(cluster.sim:tls { how = "slow", seconds = 0.3, count = 2 })
        cluster.sim:cut { how = "reset", verb = "watch" }
        scene:update("a", "2")
        watched:sees { "update a 1>2" }
        cluster.sim:heal()
    end)
    it("whose handshakes stall is given up after a timeout, and reconnected", function(scene)
        scene:create("a", "1")
        assert(cluster.sim:tls { how = "stall", count = 0 })
        local watched = scene:record()
        eventually(function()
            local message = watched.informer:status().error
            return message and message:find("did not finish the TLS handshake in time", 1, true)
        end, function()
            return "the error says that it took too long, not "
                .. tostring(watched.informer:status().error)
        end)
        assert.is_true(cluster.sim:heal(cluster.sim:faults()[1].id))
        watched:starts_with { "add a=1 initial" }
    end)
end

conformance.describe("A server", function(it, cluster)
    if not cluster.fails_on_demand then
        return
    end
    it("that refuses connections for a while is reconnected", function(scene)
        scene:create("a", "1")
        cluster.sim:refuse { seconds = 0.3 }
        local watched = scene:record()
        watched:starts_with { "add a=1 initial" }
        local failures = watched.informer:status().failures
        cluster.sim:refuse { seconds = 1 }
        eventually(function()
            return watched.informer:status().failures > failures
        end, "the watch breaks")
        scene:create("z")
        watched:sees { "add z=1" }
    end)
    if cluster.over_network then
        for _, how in ipairs(BROKEN) do
            describe_broken(it, cluster, how)
        end
        describe_certificates(it, cluster)
        describe_handshakes(it, cluster)
    else
        it("in this process has no port to break, and says so", function(scene)
            scene:create("a", "1")
            assert(cluster.sim:garble { verb = "list", resource = "configmaps" })
            local watched = scene:record(scene:informer { streaming_list = false })
            eventually(function()
                local message = watched.informer:status().error
                return message and message:find("needs a socket", 1, true)
            end, "the error says why")
            watched:starts_with { "add a=1 initial" }
            assert.has_error(function()
                cluster.sim:certificate { how = "expired" }
            end)
            assert.has_error(function()
                cluster.sim:tls { how = "stall" }
            end)
        end)
    end
end)
