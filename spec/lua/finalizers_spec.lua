-- Finalizers of scripts, which may run after those of what they use, and in the middle of a call.
local jit = rawget(_G, "jit")

-- What a process of its own says that runs the text, to its orderly end, and whether it got there.
-- In the text, at_collection(run) has `run` called once nothing refers to its result any more.
local function said_by(text)
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write("package.path, package.cpath = ",
        string.format("%q, %q", package.path, package.cpath), [[

        local core, kubelua, Sim = require "kubelua.core", require "kubelua", require "kubelua.sim"
        local newproxy = rawget(_G, "newproxy") -- before 5.2 tables have no __gc
        local function at_collection(run)
            if newproxy then
                local guard = newproxy(true)
                getmetatable(guard).__gc = run
                return guard
            end
            return setmetatable({}, { __gc = run })
        end
        ]], text)
    file:close()
    local pipe = io.popen((jit and "luajit " or "lua5.4 ") .. path .. " 2>&1; echo \"status $?\"")
    local said = pipe:read("*a")
    pipe:close()
    os.remove(path)
    return said
end

describe("a finalizer at the end of a script", function()
    it("finds an informer that was collected before it stopped", function()
        assert.equal("0 nil closed\nstatus 0\n", said_by [[
            local pods
            guard = at_collection(function()
                local _, _, code = pods:list()
                io.stdout:write(pods:count(), " ", tostring(pods:get("a/b")), " ", code, "\n")
                pods:stop()
            end)
            local cluster = assert(Sim.new())
            pods = assert(assert(cluster:connect()):informer { "pods" })
            assert(pods:wait_synced(10))
        ]])
    end)

    it("reads objects by paths that were used before", function()
        assert.equal("n1\nstatus 0\n", said_by [[
            local pod = assert(core.object('{"metadata":{"name":"p"},"spec":{"nodeName":"n1"}}'))
            guard = at_collection(function()
                io.stdout:write(pod:get("spec.nodeName"), "\n")
            end)
            assert(pod:get("spec.nodeName"))
        ]])
    end)
end)
