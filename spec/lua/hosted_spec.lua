-- In a program that runs other things on the thread of its Lua (HAProxy, cqueues, luv), a call
-- that would block raises; a task with step(0) is the bridge. The examples of docs/HOSTS.md for
-- hosts whose library is installed run as they stand there (those that are programs: spec/hosts).
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"
local process_of = require("spec.support.processes").output_of

describe("a call that waits", function()
    local cluster, client

    setup(function()
        cluster = assert(Sim.new())
        client = assert(cluster:connect())
    end)

    teardown(function()
        client:close()
        cluster:close()
    end)

    local CALLS = {
        ["kubelua.sleep"] = function() kubelua.sleep(0.001) end,
        ["kubelua.run"] = function() kubelua.run(0.001) end,
        ["kubelua.step"] = function() kubelua.step(0.001) end,
        ["kubelua.exec"] = function() kubelua.exec { "true" } end,
        ["get"] = function() client:get("namespaces", "default") end,
        ["request"] = function() client:request { path = "/version" } end,
        ["wait_synced"] = function()
            assert(client:informer("pods")):wait_synced(1)
        end,
        ["kubelua.spawn"] = function() kubelua.spawn(function() end):wait(1) end,
    }

    for name, call in pairs(CALLS) do
        it("raises in a host's own coroutine: " .. name, function()
            local ok, message = coroutine.resume(coroutine.create(call))
            assert.is_false(ok)
            assert.matches("inside a coroutine of your own.*kubelua.spawn.*kubelua.fd", message)
            assert.matches("hosted_spec.lua:%d+: ", message)
        end)

        it("raises at top level once a host says so: " .. name, function()
            kubelua.host(true)
            local ok, message = pcall(call)
            kubelua.host(false)
            assert.is_false(ok)
            assert.matches("would block the host", message, 1, true)
            assert.is_true((pcall(call)))
        end)
    end

    it("works in a task that a host's coroutine dispatches", function()
        kubelua.host(true)
        local got
        local co = coroutine.wrap(function()
            kubelua.spawn(function()
                kubelua.sleep(0.001)
                got = assert(client:get("namespaces", "default")).name
            end)
            while not got do
                kubelua.step(0)
                coroutine.yield()
            end
            return "done"
        end)
        local deadline = os.time() + 10
        repeat
            local said = co()
            assert.is_true(os.time() < deadline)
        until said == "done"
        kubelua.host(false)
        assert.equal("default", got)
        assert.error_matches(function() kubelua.host() end, "true or false")
    end)
end)

describe("a host that hides its LuaJIT", function()
    local has_jit = rawget(_G, "jit") ~= nil
    it("is known by the module jit", function()
        if not has_jit then
            return pending("of LuaJIT")
        end
        assert.matches("works\nstatus 0",
            process_of("_G.jit = nil\nrequire 'kubelua'\nprint('works')"))
    end)

    it("is told what to use, without a command line #processes", function()
        local said = process_of([[
            package.loaded.jit, package.preload.jit, _G.jit = nil, nil, nil
            package.path, package.cpath = package.path:gsub("[^;]*jit[^;]*;?", ""), ""
            _G._VERSION, _G.arg = "Lua 5.3", nil
            print(select(2, pcall(require, "kubelua")))
        ]])
        assert.matches("this is Lua 5.3: the program that loads it has that Lua built in", said, 1,
            true)
        assert.is_nil(said:find("start the script", 1, true))
    end)
end)

local function example(heading)
    local file = assert(io.open("docs/HOSTS.md"))
    local text = file:read("*a")
    file:close()
    return assert(text:match("## " .. heading .. "\n\n.-```lua\n(.-)```"))
end

-- Runs the example in a process with a cluster of two pods; `ending` ends the host's loop.
local function run(heading, before, after)
    return process_of([[
        local cluster = assert(require("kubelua.sim").new { load = "examples/cluster.yaml" })
        require("kubelua.client").defaults.sim = cluster
    ]] .. before .. "\n" .. example(heading) .. "\n" .. after)
end

describe("an example of HOSTS.md", function()
    it("works in luv #processes", function()
        if not pcall(require, "luv") then
            return pending("luv is not installed")
        end
        local said = run("luv and neovim", "", [[
            local seen = print
            local timer, count = uv.new_timer(), 0
            print = function(...) seen(...) count = count + 1 end
            timer:start(0, 20, function()
                kubelua.step(0)
                if count > 0 then uv.stop() end
            end)
            uv.run()
        ]])
        assert.matches("\n?[%w-]+/[%w-]+\n.*status 0", said)
    end)

    it("works in cqueues #processes", function()
        if not pcall(require, "cqueues") then
            return pending("cqueues is not installed")
        end
        local said = run("cqueues", [[
            local seen = print
            print = function(...) seen(...) os.exit(0, true) end
        ]], "")
        assert.matches("Namespace.*default.*status 0", said)
    end)

    it("has text that each Lua can load", function()
        for _, heading in ipairs { "luv and neovim", "cqueues", "HAProxy", "Prosody", "Tarantool",
            "knot%-resolver", "PowerDNS recursor" } do
            assert(load(example(heading), heading))
        end
    end)
end)
