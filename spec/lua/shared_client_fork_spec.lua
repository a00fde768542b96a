-- kubelua.connect { share = "NAME" } in a child of fork: it has a client of its own.
local process_of = require("processes").output_of
local Sim = require "kubelua.sim"

describe("A shared client", function()
    local cluster, server

    before_each(function()
        cluster = assert(Sim.new())
        server = assert(cluster:listen())
    end)

    after_each(function()
        cluster:close()
    end)

    it("works in a child of fork that shares the name #processes", function()
        if not rawget(_G, "jit") then
            return pending("of LuaJIT")
        end
        assert.equal("child default\nstatus 0\n", process_of(string.format([[
            local ffi = require "ffi"
            ffi.cdef "int fork(void); int waitpid(int, int *, int); void _exit(int);"
            local kubelua = require "kubelua"
            local options = { server = %q, share = "spec" }
            local client = assert(kubelua.connect(options))
            assert(client:get("namespaces", "default"))
            local child = ffi.C.fork()
            if child == 0 then
                print("child " .. assert(assert(kubelua.connect(options)):get("namespaces",
                    "default")).name)
                io.stdout:flush()
                ffi.C._exit(0)
            end
            ffi.C.waitpid(child, nil, 0)
            client:close()
        ]], server)))
    end)
end)
