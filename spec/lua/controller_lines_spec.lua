-- Errors of a controller name the line of the script, and the object of the write.
local kubelua = require "kubelua"
local process_of = require("processes").output_of
local trace = require "kubelua.trace"
local world = require "controller_world"

local w

before_each(function()
    w = world.new()
    w:apply("a")
end)

after_each(function()
    w:close()
end)

local function line_here()
    return debug.getinfo(2, "l").currentline
end

-- The log's line of a run that fails.
local function failure_of(reconcile)
    local controller = w:controller { reconcile = reconcile }
    local line = w:logged("controller spec: ConfigMap web/a: ")
    assert.equal("invalid", controller:status().failures[1].code)
    assert.is_nil(line:find("traceback", 1, true))
    return line
end

local function expect_place(log, line, write)
    assert.matches("ConfigMap web/a: spec/lua/controller_lines_spec.lua:" .. line .. ": " .. write
        .. ": ", log)
end

describe("a failure that reaches the log", function()
    it("by assert has the line of the call, and the object of the write", function()
        local line
        local log = failure_of(function(_, run)
            assert(run:apply(w.secret("good")))
            line = line_here() + 1
            assert(run:apply(w.wrong_secret("s")))
            assert(run:apply(w.wrong_secret("never")))
        end)
        expect_place(log, line, "apply Secret web/s")
    end)

    it("by return nil, message, code has them", function()
        local line
        local log = failure_of(function(_, run)
            line = line_here() + 1
            local made, message, code = run.client:create(w.wrong_secret("s"))
            if not made then
                return nil, message, code
            end
        end)
        expect_place(log, line, "create Secret default/s")
    end)

    it("by a tail call has them", function()
        local line
        local log = failure_of(function(_, run)
            line = line_here() + 1
            return run:apply(w.wrong_secret("s"))
        end)
        expect_place(log, line, "apply Secret web/s")
    end)

    it("by a tail call of a client has the line at which the function begins", function()
        local client, line = w.client, line_here() + 1
        local log = failure_of(function()
            return client:apply(w.wrong_secret("s"))
        end)
        expect_place(log, line, "apply Secret default/s")
        w.lines = {}
        log = failure_of(function(_, run)
            run:get("configmaps", "web/a")
            line = line_here() + 1
            return run.client:apply(w.wrong_secret("s"))
        end)
        expect_place(log, line, "apply Secret default/s")
    end)

    it("names which of five writes at the same time it was", function()
        w.cluster:fail { verb = "patch", status = 422, count = 0 }
        local seen = {}
        for _, name in ipairs { "b", "c", "d", "e" } do
            w:apply(name)
        end
        local controller = w:controller { workers = 5, reconcile = function(object, run)
            local made, message, code = run:apply(w.secret("of-" .. object.name))
            kubelua.sleep(0) -- the others fail meanwhile
            return made, message, code
        end }
        w:rest(controller)
        for _, failure in ipairs(controller:status().failures) do
            seen[#seen + 1] = failure.message:match("apply Secret (%S+):")
        end
        assert.same({ "web/of-a", "web/of-b", "web/of-c", "web/of-d", "web/of-e" }, seen)
    end)
end)

describe("misuse", function()
    it("shows the frame of the script first, without KubeLua's own", function()
        local line
        w:controller { reconcile = function(object, run)
            line = line_here() + 1
            run:apply(object)
        end }
        local log = w:logged("error controller spec: ConfigMap web/a: .*apply a table of only")
        assert.matches("ConfigMap web/a: spec/lua/controller_lines_spec.lua:" .. line
            .. ": run:apply: .*; stack traceback:; spec/lua/controller_lines_spec.lua:" .. line
            .. ": in ", log)
        assert.is_nil(log:find("lua/kubelua/", 1, true), log)
    end)

    it("in a tail call has the line of the call", function()
        local line
        w:controller { reconcile = function(object, run)
            line = line_here() + 1
            return run:apply(object)
        end }
        local log = w:logged("error controller spec: ConfigMap web/a: .*apply a table of only")
        assert.matches("ConfigMap web/a: spec/lua/controller_lines_spec.lua:" .. line
            .. ": run:apply: ", log)
        assert.is_nil(log:find("lua/kubelua/", 1, true), log)
    end)

    it("of a call that is written in C is shown so, too", function()
        local _, message = trace.call(function()
            w.client:informer { "pods", namespace = "a,b" }
        end)
        assert.matches("^spec/lua/controller_lines_spec.lua:%d+: .*\nstack traceback:\n"
            .. "\tspec/lua/controller_lines_spec.lua:%d+: in ", message)
    end)

    it("leaves other tracebacks as they are", function()
        local _, message = trace.call(function() kubelua.changed(error) end)
        assert.is_nil(message:find("misuse.lua", 1, true), message)
        _, message = trace.call(function() error("my own") end)
        assert.matches("my own\nstack traceback:\n\t%[C%]: in function 'error'", message)
        _, message = trace.call(function() kubelua.exec(setmetatable({}, { __len = error })) end)
        assert.matches("traceback", message)
    end)

    it("in the main chunk of the command is shown so #processes", function()
        local said = process_of([[
            package.path = package.path .. ";lua/cli/?.lua"
            local path = os.tmpname()
            local file = assert(io.open(path, "w"))
            file:write("\nlocal kubelua = require 'kubelua'\nkubelua.sleep('long')\n")
            file:close()
            os.exit(require("kubelua.cli.command").main { "run", path })
        ]])
        assert.matches("kubelua: /tmp/[^:]*:3: kubelua.sleep: .*; stack traceback:; "
            .. "/tmp/[^:]*:3: in ", said)
        assert.matches("status 1\n$", said)
    end)
end)
