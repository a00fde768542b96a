-- There is one core in a process: the C modules share one libkubelua.so, found beside them, and a
-- script that only watches a cluster loads nothing of the simulator. Read from /proc/self/maps.
local process_of = require("processes").output_of

-- The files of that name which a process running the text has mapped, each once; from its last
-- line.
local function mapped_by(text, name)
    return process_of(text .. ([[

        local files, count = {}, 0
        for line in io.lines("/proc/self/maps") do
            local file = line:match("/[^ ]*" .. %q .. "[^/ ]*$")
            if file and not files[file] then
                files[file], count = true, count + 1
            end
        end
        print(count)
    ]]):format(name))
end

describe("the shared library #processes", function()
    it("is mapped once for the modules of the core and the simulator", function()
        assert.equal("1\nstatus 0\n", mapped_by([[
            local kubelua = require "kubelua"
            assert(kubelua.connect { sim = assert(require("kubelua.sim").new()) }:close() == nil)
        ]], "libkubelua%.so"))
    end)

    it("of the simulator is not loaded by a script that uses a server", function()
        local text = [[
            local kubelua = require "kubelua"
            require("kubelua.core").set_log_level("off") -- the refusal may come before the close
            local client = assert(kubelua.connect { server = "http://127.0.0.1:1" })
            client:informer { "pods" }
            client:close()
        ]]
        assert.equal("0\nstatus 0\n", mapped_by(text, "libkubelua%-sim%.so"))
        assert.equal("0\nstatus 0\n", mapped_by(text, "libmicrohttpd%.so"))
    end)
end)

if rawget(_G, "jit") then
    describe("LuaJIT's FFI #processes", function()
        it("calls into the library that the module uses", function()
            -- FFI reads the same number of live clients as the module has.
            assert.equal("true\nstatus 0\n", process_of [[
                local ffi = require "ffi"
                local kubelua = require "kubelua"
                ffi.cdef "const char *kl_version(void); long kl_live_count(int kind);"
                local path
                for line in io.lines("/proc/self/maps") do
                    path = path or line:match("(/[^ ]*libkubelua%.so[^ ]*)$")
                end
                local library = ffi.load(path)
                local before = {}
                for kind = 0, 3 do
                    before[kind] = library.kl_live_count(kind)
                end
                local client = assert(kubelua.connect { server = "http://127.0.0.1:1" })
                local grew = false
                for kind = 0, 3 do
                    grew = grew or library.kl_live_count(kind) > before[kind]
                end
                print(grew)
                client:close()
            ]])
        end)
    end)
end
