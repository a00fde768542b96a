-- Scripts of several files under test: their modules, their `arg`, and their kubelua.run().
local Sim = require "kubelua.sim"

-- Writes files into a new folder; returns its path, and a function that removes it.
local function folder_of(files)
    local folder = os.tmpname()
    os.remove(folder)
    assert(os.execute("mkdir -p " .. folder .. "/inner/kubelua"))
    for name, text in pairs(files) do
        local file = assert(io.open(folder .. "/" .. name, "w"))
        file:write(text)
        file:close()
    end
    return folder, function() os.execute("rm -rf " .. folder) end
end

describe("a script of several files #processes", function()
    local cluster, folder, remove

    local function write(files)
        folder, remove = folder_of(files)
    end

    before_each(function()
        cluster = assert(Sim.new())
    end)

    after_each(function()
        cluster:close()
        remove()
    end)

    it("finds the modules of its own folder, from any folder", function()
        write { ["main.lua"] = 'return require "sibling", require "inner.below", (require "inner")',
            ["sibling.lua"] = 'return "sibling"', ["inner/below.lua"] = 'return "below"',
            ["inner/init.lua"] = 'return "inner"' }
        assert.same({ "sibling", "below", "inner" }, { cluster:run(folder .. "/main.lua") })
    end)

    it("finds them later too, in a task", function()
        write { ["main.lua"] = [[local log = ...
            require("kubelua").spawn(function() log[1] = require "later_sibling" end)]],
            ["later_sibling.lua"] = 'return "later"' }
        local log = {}
        cluster:run(folder .. "/main.lua", log)
        assert(cluster:eventually(function() return log[1] == "later" end))
    end)

    it("has its modules loaded anew by each run", function()
        write { ["main.lua"] = 'local s = require "counting_sibling"; s.n = s.n + 1; return s.n',
            ["counting_sibling.lua"] = 'return { n = 0 }' }
        assert.equal(1, cluster:run(folder .. "/main.lua"))
        assert.equal(1, cluster:run(folder .. "/main.lua"))
        local another = assert(Sim.new())
        assert.equal(1, another:run(folder .. "/main.lua"))
        another:close()
    end)

    it("shares a module with the test that has loaded it", function()
        write { ["main.lua"] = 'return require("shared_sibling").n' }
        package.loaded.shared_sibling = { n = 7 }
        assert.equal(7, cluster:run(folder .. "/main.lua"))
        assert.equal(7, package.loaded.shared_sibling.n)
        package.loaded.shared_sibling = nil
    end)

    it("finds no module of KubeLua in its folder", function()
        write { ["main.lua"] = 'return pcall(require, "kubelua.theirs")',
            ["inner/kubelua/theirs.lua"] = 'return "theirs"' }
        os.execute("mv " .. folder .. "/inner/kubelua " .. folder .. "/kubelua")
        local ok, problem = cluster:run(folder .. "/main.lua")
        assert.is_false(ok)
        assert.matches("module 'kubelua.theirs' not found", problem)
    end)

    it("is told which files were looked for, and why one does not load", function()
        write { ["main.lua"] = "require 'no_such_sibling'",
            ["second.lua"] = "require 'broken_sibling'",
            ["broken_sibling.lua"] = "x = = 1" }
        assert.error_matches(function() cluster:run(folder .. "/main.lua") end,
            "\n\tno file '" .. folder:gsub("%p", "%%%0") .. "/no_such_sibling.lua'")
        local _, problem = pcall(cluster.run, cluster, folder .. "/second.lua")
        assert.matches("broken_sibling.lua:1: unexpected symbol", problem)
    end)

    it("has its own arg, then and later, and in its modules", function()
        write { ["main.lua"] = [[local log = ...
            log.main, log.module = arg, require "arg_sibling"
            log.path, log.later = arg[0], function() return arg[2] end]],
            ["arg_sibling.lua"] = "return arg[2]" }
        local log, before = {}, rawget(_G, "arg")
        cluster:run(folder .. "/main.lua", log, "second")
        assert.equal("second", log.main[2])
        assert.equal("second", log.module)
        assert.equal("second", log.later())
        assert.equal(folder .. "/main.lua", log.path)
        assert.equal(before, rawget(_G, "arg"))
    end)
end)

describe("a script that calls kubelua.run() #processes", function()
    local function run(text, ...)
        local folder, remove = folder_of { ["main.lua"] = text }
        local cluster = assert(Sim.new())
        local function keep(ok, ...)
            return ok, select("#", ...) == 1 and ... or select("#", ...)
        end
        local ok, result = keep(pcall(cluster.run, cluster, folder .. "/main.lua", ...))
        remove()
        return cluster, ok, result
    end

    it("goes on after it when the test ends", function()
        local log = {}
        local cluster, ok = run([[
            local log, kubelua = ..., require "kubelua"
            local client = assert(kubelua.connect())
            client:informer { "namespaces" }:on { synced = function() log[#log + 1] = "synced" end }
            local signal = kubelua.run()
            log[#log + 1] = tostring(signal)
            log[#log + 1] = client:namespace()
            client:close()]], log)
        assert.is_true(ok)
        assert(cluster:eventually(function() return log[1] == "synced" end))
        assert.equal(1, #log)
        cluster:close()
        assert.same({ "synced", "nil", "default" }, log)
    end)

    it("may wait before it, outside of tasks", function()
        local cluster, ok, count = run [[
            local kubelua = require "kubelua"
            local namespaces = kubelua.connect():informer { "namespaces" }
            assert(namespaces:wait_synced(10))
            return namespaces:count()]]
        assert.is_true(ok)
        assert.is_true(count > 0)
        cluster:close()
    end)

    it("returns all that it returns", function()
        local cluster, ok, count = run [[return nil, "message", "code", nil]]
        assert.is_true(ok)
        assert.equal(4, count)
        cluster:close()
    end)

    it("raises what it raises", function()
        local cluster, ok, problem = run [[error("its own")]]
        assert.is_false(ok)
        assert.matches("main.lua:1: its own", problem)
        cluster:close()
    end)

    it("again and again is left there when the test ends", function()
        local log = { n = 0 }
        local cluster = run([[local log = ...
            while true do log.n = log.n + 1; require("kubelua").run() end]], log)
        cluster:close()
        assert.equal(2, log.n)
    end)
end)
