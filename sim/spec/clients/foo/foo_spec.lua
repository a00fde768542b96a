-- sample-controller and examples/foo-controller.lua run through the same changes (changes.lua) on
-- the same API server, and must leave the same objects: left.json has what sample-controller left
-- on a real server. KUBELUA_BACKEND=real uses a real server; the default is the simulator on a
-- port.
package.path = "sim/spec/clients/foo/?.lua;" .. package.path
local core = require "kubelua.core"
local changes = require "changes"
local eventually = require "eventually"
local left = require "left"
local process = require "process"
local World = require "world"

local EXPECTED = "sim/spec/clients/foo/left.json"
local build = os.getenv("KUBELUA_BUILD") or "build"
local PATIENCE = 60

local function exists(path)
    local file = io.open(path)
    return file and file:close()
end

local CONTROLLERS = {
    ["sample-controller"] = {
        name = "sample-controller",
        file = build .. "/clients/sample-controller",
        command = build .. "/clients/sample-controller -kubeconfig KUBECONFIG",
    },
}
for _, interpreter in ipairs { "lua5.4", "luajit" } do
    CONTROLLERS["foo-controller.lua in " .. interpreter] = {
        name = "foo",
        file = "examples/foo-controller.lua",
        command = ("env KUBELUA_INTERPRETER=%s bin/kubelua run --kubeconfig KUBECONFIG "
            .. "examples/foo-controller.lua"):format(interpreter),
    }
end

local function backend()
    local name = os.getenv("KUBELUA_BACKEND") or "tls"
    return name == "real" and require "backend_real" or require("backend_sim")[name]
end

local count = 0

-- Lets one controller run through all changes; returns the objects that it has left.
local function run(server, controller, log)
    count = count + 1
    local world = World.new(server.call, ("foo-%d-%d"):format(os.time(), count))
    local pid
    function world.start_controller()
        pid = process.start(controller.command, server.kubeconfig, log)
    end
    function world.stop_controller()
        assert(process.stop(pid), controller.name .. " does not stop on SIGTERM")
        pid = nil
    end
    function world.wait(_, what, condition)
        eventually(condition, what, PATIENCE)
    end
    world:start_controller()
    local ok, problem = pcall(function()
        for _, change in ipairs(changes) do
            change[2](world)
            world:wait(change[1], function() return change[3](world) end)
        end
        return left.collect(world, controller.name)
    end)
    if pid then
        process.stop(pid)
    end
    world:close()
    return ok, problem
end

local function read_expected()
    local file = assert(io.open(EXPECTED))
    local text = file:read("*a")
    file:close()
    return core.decode(text)
end

local function tail(path)
    local pipe = io.popen("tail -n 20 '" .. path .. "'")
    local text = pipe:read("*a")
    pipe:close()
    return text
end

describe("The changes to Foos", function()
    for title, controller in pairs(CONTROLLERS) do
        it("leave with " .. title .. " what is in left.json", function()
            if not exists(controller.file) then
                pending(controller.file .. " is not there; see sim/spec/clients/clients.sh")
                return
            end
            local server = backend():start()
            server.kubeconfig = server.kubeconfig or server.folder .. "/kubeconfig"
            local log = os.tmpname()
            local ok, found = run(server, controller, log)
            local said = tail(log)
            os.remove(log)
            server:stop()
            assert(ok, tostring(found) .. "\n" .. said)
            if os.getenv("KUBELUA_WRITE_LEFT") == title then
                local file = assert(io.open(EXPECTED, "w"))
                file:write(left.text(found))
                file:close()
            end
            assert.same({}, left.differences(found, read_expected()))
        end)
    end
end)
