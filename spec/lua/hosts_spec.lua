-- The examples of docs/HOSTS.md for hosts whose library is installed, run as they stand there, on a
-- simulated cluster. Those that are programs: spec/hosts.
local process_of = require("spec.support.processes").output_of

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
