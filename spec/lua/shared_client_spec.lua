-- kubelua.connect { share = "NAME" }: Lua states of one process share one client, so one watch. The
-- second state runs in a thread of luv; it tells what it sees by ConfigMaps.
local eventually = require "eventually"
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"
local load_text = rawget(_G, "loadstring") or load -- LuaJIT's load takes a function only
local has_luv, uv = pcall(require, "luv")
-- Debian 13's luv (1.48, on libuv 1.50) breaks the memory of a process that closes a state in which
-- a thread was made, also a thread that does nothing.
local breaks = has_luv and uv.version() >= 0x013000 -- libuv 1.48.0

local THREAD = [[
    local path, cpath, server = ...
    package.path, package.cpath = path, cpath
    local kubelua = require "kubelua"
    local client = assert(kubelua.connect { server = server, share = "spec" })
    local pods, is_over = assert(client:informer("pods")), false
    assert(pods:on { add = function(pod)
        is_over = pod.name == "end"
        kubelua.spawn(function()
            assert(client:create { apiVersion = "v1", kind = "ConfigMap",
                metadata = { name = "saw-" .. pod.name, namespace = "default" } })
        end)
    end })
    while not is_over do
        kubelua.step(1)
    end
    client:close()
]]

describe("A shared client", function()
    local cluster, server, opened

    before_each(function()
        cluster = assert(Sim.new())
        server = assert(cluster:listen())
        opened = {}
    end)

    after_each(function()
        for _, client in ipairs(opened) do
            client:close()
        end
        cluster:close()
    end)

    local function connect(options)
        options.server, options.share = server, "spec"
        local client, message, code = kubelua.connect(options)
        opened[#opened + 1] = client
        return client, message, code
    end

    local function create_pod(name)
        assert(cluster:create { apiVersion = "v1", kind = "Pod",
            metadata = { name = name, namespace = "default" },
            spec = { containers = { { name = "a", image = "a" } } } })
    end

    -- How many lists and watches of pods the server got.
    local function watches()
        return #cluster:requests { verb = "list", resource = "pods" }
            + #cluster:requests { verb = "watch", resource = "pods" }
    end

    it("has one list and one watch for two Lua states, and lives until the last closes", function()
        if not has_luv then
            return pending("luv is not installed")
        elseif breaks then
            return pending("this luv breaks memory at the end of a process that had a thread")
        end
        local client = assert(connect {})
        local pods = assert(client:informer("pods")) -- one that is collected is closed
        assert(pods:wait_synced())
        local thread = uv.new_thread(load_text(THREAD), package.path, package.cpath,
            server)
        create_pod("first")
        assert(cluster:wait("configmaps", "default/saw-first"))
        pods:stop()
        client:close()
        create_pod("end")
        thread:join()
        assert.equal(1, watches()) -- it streams the list too

        assert(assert(assert(connect {}):informer("pods")):wait_synced())
        assert.equal(2, watches())
    end)

    it("is refused with another option, which the message names", function()
        assert(connect { namespace = "a" })
        assert(connect { namespace = "a" })
        local client, message, code = connect { namespace = "b" }
        assert.is_nil(client)
        assert.matches("shared as 'spec' was opened with another 'namespace'", message, 1, true)
        assert.equal("invalid_argument", code)
        client, message = connect { namespace = "a", insecure = true }
        assert.is_nil(client)
        assert.matches("another 'insecure'", message, 1, true)
    end)

    it("is opened anew, with any options, once all are closed", function()
        for _, namespace in ipairs { "a", "b" } do
            local one, two = assert(connect { namespace = namespace }),
                assert(connect { namespace = namespace })
            one:close()
            two:close()
            assert.equal(namespace, assert(connect { namespace = namespace }):namespace())
            opened[#opened]:close()
        end
    end)

    it("that is closed ends its own handlers and requests only", function()
        local one, two = assert(connect {}), assert(connect {})
        local seen = { 0, 0 }
        for i, client in ipairs { one, two } do
            assert(assert(client:informer("pods")):on { add = function()
                seen[i] = seen[i] + 1
            end })
        end
        assert(cluster:delay { verb = "get", name = "default", before = 60 })
        local codes = {}
        local task = kubelua.spawn(function()
            codes[1] = select(3, one:get("namespaces", "default"))
        end)
        eventually(function() return cluster:faults()[1].hits > 0 end, "a get")
        one:close()
        task:wait(10)
        assert.same({ "closed" }, codes)
        create_pod("a")
        eventually(function() return seen[2] == 1 end, "the other's event")
        assert.equal(0, seen[1])
        assert.equal("closed", (select(3, one:get("pods", "default/a"))))
        assert(two:get("pods", "default/a"))
    end)
end)
