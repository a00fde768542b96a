-- The watch of files that kubelua run --reload waits on, beside a child of fork. Only LuaJIT can
-- fork here (by FFI).
local jit = rawget(_G, "jit")
local core = require "kubelua.core"
local process_of = require("processes").output_of

-- The output of a process that has a child of fork, which has the descriptors of its parent and
-- runs `child`, and then runs `parent`. `write()` changes the file that `watch` watches.
local function forked(child, parent)
    local folder = os.tmpname()
    os.remove(folder)
    assert(core.make_folder(folder))
    local output = process_of(([[
        local ffi = require "ffi"
        ffi.cdef "int fork(void); int waitpid(int, int *, int); int pause(void);"
        ffi.cdef "int kill(int, int); void _exit(int);"
        local core = require "kubelua.core"
        local poller = core.poller(0)
        assert(poller:open())
        local function write()
            assert(io.open(%q, "w")):close()
        end
        write()
        local watch = assert(core.file_watch(poller))
        assert(watch:add(%q))
        local function fork()
            local pid = ffi.C.fork()
            if pid == 0 then
                local ok, problem = pcall(function()
                    %s
                end)
                if not ok then
                    print(problem)
                end
                io.stdout:flush()
                ffi.C._exit(0)
            end
            return pid
        end
        %s
    ]]):format(folder .. "/file", folder .. "/file", child, parent))
    os.remove(folder .. "/file")
    os.remove(folder)
    return output
end

describe("a watch of files, beside a child of fork #processes", function()
    if not jit then
        return
    end

    it("wakes the poller no more once it is closed", function()
        assert.equal("true\nfalse\nstatus 0\n", forked("ffi.C.pause()", [[
            local pid = fork()
            write()
            print(poller:wait(0))
            watch:close()
            write()
            print(poller:wait(0))
            ffi.C.kill(pid, 9)
            ffi.C.waitpid(pid, nil, 0)
        ]]))
    end)

    it("keeps its reports for the parent, whatever the child does with it", function()
        assert.equal("child false\nparent true\nparent true\nstatus 0\n", forked([[
            print("child " .. tostring(watch:has_changed()))
            watch:close()
        ]], [[
            write()
            ffi.C.waitpid(fork(), nil, 0)
            print("parent " .. tostring(watch:has_changed()))
            write()
            print("parent " .. tostring(watch:has_changed()))
        ]]))
    end)
end)
