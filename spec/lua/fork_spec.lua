-- Loaded before a fork and used after it, as the modules of nginx are. LuaJIT alone can fork here.
local jit = rawget(_G, "jit")
local process_of = require "process_of"

-- What a process of its own says that has loaded kubelua, run `before`, forked, and read pods in
-- the child.
local function forked(before)
    return process_of([[
        local ffi = require "ffi"
        ffi.cdef "int fork(void); int waitpid(int, int *, int); void _exit(int);"
        local kubelua, Sim = require "kubelua", require "kubelua.sim"
        ]] .. before .. [[

        local child = ffi.C.fork()
        if child == 0 then
            local sim, problem = Sim.new()
            local client = sim and assert(kubelua.connect { sim = sim })
            local informer = client and assert(client:informer { "pods" })
            print(informer and informer:wait_synced(60) and "synced" or problem)
            io.stdout:flush()
            ffi.C._exit(0)
        end
        ffi.C.waitpid(child, nil, 0)
    ]])
end

describe("A child of fork", function()
    if not jit then
        return
    end

    it("connects where the module was only loaded before", function()
        assert.equal("synced\nstatus 0\n", forked(""))
    end)

    it("is told to close what was open before", function()
        local said = forked [[
            local before = Sim.new()
        ]]
        assert.truthy(said:find("close what was opened", 1, true), said)
    end)
end)
