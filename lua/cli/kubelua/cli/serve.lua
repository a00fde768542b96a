-- kubelua sim: serves a simulated API server on a port until it is stopped.
local complain = require "kubelua.cli.complaint"
local loop = require "kubelua.loop"
local private_file = require "kubelua.cli.private_file"
local Sim = require "kubelua.sim"
local tasks = require "kubelua.tasks"
local waiting = require "kubelua.waiting"
local whole_file = require "kubelua.cli.whole_file"

local STOPPED, FAILED = 0, 1

local function flatten(lists)
    local all = {}
    for _, list in ipairs(lists) do
        for _, item in ipairs(list) do
            all[#all + 1] = item
        end
    end
    return all
end

-- Listens, and prints the URL.
local function listen(sim, options)
    local url, message = sim:listen { address = options.listen.host, port = options.listen.port,
        tls = options.tls or options.rbac or options.token ~= nil or #options.users > 0 }
    if not url then
        return nil, message
    end
    io.stdout:write("Simulated API server on ", url, " (control token ", sim:control_token(), ")\n")
    if options.write_kubeconfig then
        local ok
        ok, message = whole_file.write(options.write_kubeconfig, sim:kubeconfig(), private_file)
        if not ok then
            return nil, message
        end
        io.stdout:write("Try: kubectl --kubeconfig ", options.write_kubeconfig,
            " get namespaces\n")
    end
    io.stdout:flush()
    return true
end

-- Starts controllers beside the server, if the command line asks for them. nil, message: one of
-- them could not start.
local function start_controllers(sim, options)
    if not options.controllers then
        return true
    end
    local client, message = sim:connect()
    if not client then
        return nil, message
    end
    return require("kubelua.sim.controllers").start(client, { now = function()
        return sim:now()
    end })
end

-- Plays the recording once the first watch is open, so that its client misses nothing.
local function play_from_first_watch(sim, speed)
    tasks.task("replay", function()
        while #sim:requests { verb = "watch" } == 0 do
            waiting.sleep(0.05)
        end
        sim:play { speed = speed > 0 and speed or math.huge }
    end)
end

local function start_sim(options)
    local sim, message = Sim.new {
        load = flatten(options.load), token = options.token, replay = options.replay,
        rbac = options.rbac, users = #options.users > 0 and options.users or nil,
        now = options.clock_offset and os.time() + options.clock_offset,
    }
    if not sim then
        return nil, message
    end
    local ok
    ok, message = listen(sim, options)
    if ok then
        ok, message = start_controllers(sim, options)
    end
    if not ok then
        sim:close()
        return nil, message
    end
    if options.replay then
        play_from_first_watch(sim, options.speed or 1)
    end
    return sim
end

---Runs the command; returns the exit status.
---@param options table of the command line
---@return integer
return function(options)
    local sim, message = start_sim(options)
    if not sim then
        complain(message)
        return FAILED
    end
    loop.serve(options.duration)
    sim:close()
    return STOPPED
end
