-- KubeLua before and after a fork, as in modules of nginx. Only LuaJIT can fork here (by FFI).
local jit = rawget(_G, "jit")
local process_of = require("processes").output_of

-- The output of a process that loads kubelua, runs `before`, forks, and runs `after` in the child
-- and then in the parent. `report(...)` writes a line.
local function forked(before, after)
    return process_of([[
        local ffi = require "ffi"
        ffi.cdef "int fork(void); int waitpid(int, int *, int); void _exit(int);"
        local kubelua, Sim = require "kubelua", require "kubelua.sim"
        local core = require "kubelua.core"
        local function report(...)
            local words = { n = select("#", ...), ... }
            for i = 1, words.n do
                words[i] = tostring(words[i])
            end
            io.stdout:write(table.concat(words, " "), "\n")
            io.stdout:flush()
        end
        local function read_pods()
            local sim = assert(Sim.new())
            assert(sim:load("{apiVersion: v1, kind: Pod, metadata: {name: a}}"))
            local client = assert(kubelua.connect { sim = sim })
            local pods = assert(client:informer { "pods" })
            assert(pods:wait_synced(60))
            return pods, client, sim
        end
        local function after_fork(where, f)
            local ok, problem = pcall(f, where)
            if not ok then
                report(where, problem)
            end
        end
        ]] .. before .. [[

        local function after(where)
            ]] .. after .. [[

        end
        local child = ffi.C.fork()
        if child == 0 then
            after_fork("child", after)
            ffi.C._exit(0)
        end
        ffi.C.waitpid(child, nil, 0)
        after_fork("parent", after)
    ]])
end

local COUNT = "report(where, read_pods():count())"

describe("A child of fork", function()
    if not jit then
        return
    end

    it("can connect if the module was only loaded before", function()
        assert.equal("child 1\nparent 1\nstatus 0\n", forked("", COUNT))
    end)

    it("can connect if a client is open, and the parent goes on", function()
        assert.equal("child 1\nchild nil\nparent 1\nparent 1\nstatus 0\n", forked([[
            local before = read_pods()
        ]], COUNT .. " report(where, (before:count()))"))
    end)

    it("can connect if a client was open and was closed", function()
        assert.equal("child 1\nparent 1\nstatus 0\n", forked([[
            local _, client, sim = read_pods()
            client:close()
            sim:close()
            assert(core.live()["event queues"] == 0, "the queue of events is still there")
        ]], COUNT))
    end)

    it("has its own handlers, timers and tasks, and its own loop", function()
        assert.equal("child a\nparent a\nstatus 0\n", forked([[
            kubelua.spawn(function() kubelua.sleep(0.001) end)
            kubelua.step(0)
        ]], [[
            local pods, client = read_pods()
            assert(pods:on { add = function(pod) kubelua.stop(report(where, pod.name)) end })
            kubelua.run(60)
            client:close()
        ]]))
    end)

    it("gets 'forked' from every call on what was opened before", function()
        local said = forked([[
            local pods, client = read_pods()
            local pod = pods:get("default/a")
            assert(pods:index("by_name", function(object) return object.name end))
            local several = client:informer { "pods", namespace = { "default", "web" } }
            local registration = assert(pods:on { add = function() end })
            local both = assert(several:on { add = function() end })
        ]], [[
            if where == "parent" then
                return
            end
            local calls = {
                get = function() return pods:get("default/a") end,
                miss = function() return pods:get("default/none") end,
                list = function() return pods:list() end,
                count = function() return pods:count() end,
                by = function() return pods:by("by_name", "a") end,
                values = function() return pods:values("by_name") end,
                index = function() return pods:index("phase", "status.phase") end,
                has_synced = function() return pods:has_synced() end,
                resource_version = function() return pods:resource_version() end,
                wait_synced = function() return pods:wait_synced(1) end,
                on = function() return pods:on { add = print } end,
                status = function() local s = pods:status() return nil, s.error, s.code end,
                has_synced_of_handler = function() return registration:has_synced() end,
                backlog = function() return registration:backlog() end,
                several_get = function() return several:get("default/a") end,
                several_miss = function() return several:get("other/a") end,
                several_list = function() return several:list() end,
                several_count = function() return several:count() end,
                several_synced = function() return several:has_synced() end,
                several_version = function() return several:resource_version() end,
                several_wait = function() return several:wait_synced(1) end,
                several_on = function() return several:on { add = print } end,
                several_backlog = function() return both:backlog() end,
                several_handled = function() return both:has_synced() end,
                namespace = function() return client:namespace() end,
                informer = function() return client:informer { "nodes" } end,
                request = function() return client:request { path = "/version" } end,
                verb = function() return client:get("pods", "a") end,
            }
            for name, call in pairs(calls) do
                local result, message, code = call()
                if result ~= nil or code ~= "forked"
                    or not tostring(message):find("connect again", 1, true) then
                    report(name, result, message, code)
                end
            end
            registration:remove()
            both:remove()
            pods:stop()
            several:stop()
            client:close()
            report(pod.name, pod.metadata.name) -- objects that were read before stay
        ]])
        assert.equal("a a\nstatus 0\n", said)
    end)

    it("ends its copies of waits for an answer to the parent", function()
        assert.equal("child forked\nparent 200\nstatus 0\n", forked([[
            local _, client, sim = read_pods()
            sim:freeze(true)
            local reply, code
            local task = kubelua.spawn(function()
                local _
                reply, _, code = client:request { method = "GET", path = "/version" }
            end)
            kubelua.step(0)
            assert(not reply and not code)
        ]], [[
            if where == "parent" then
                sim:freeze(false)
            end
            task:wait(60)
            report(where, code or reply.status)
        ]]))
    end)
end)
