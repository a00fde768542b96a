-- The command line: kubelua run | sim | version.
local core = require "kubelua.core"
core.open_streams() -- before the first descriptor is made
local Client = require "kubelua.client"
local kubelua = require "kubelua"
local loop = require "kubelua.loop"
local scheduler = require "kubelua.scheduler"
local Sim = require "kubelua.sim"
local trace = require "kubelua.trace"
local usage = require "kubelua.usage"

local command = {}

local STOPPED, FAILED, USAGE = 0, 1, 2

local function complain(message)
    io.stderr:write("kubelua: ", message, "\n")
end

local function set_defaults(options)
    local defaults = Client.defaults
    defaults.kubeconfig = options.kubeconfig
    defaults.context = options.context
    defaults.server = options.server
    defaults.namespace = options.namespace
    if not options.sim then
        return true
    end
    local sim, message = Sim.new { load = options.sim_load }
    if not sim then
        return nil, message
    end
    defaults.sim = sim
    return true
end

local function load_script(path)
    local chunk, message
    if path == "-" then
        chunk, message = loadfile()
    else
        chunk, message = loadfile(path)
    end
    if not chunk and (path:match("%.ya?ml$") or path:match("%.json$")) then
        return nil, path .. " is no Lua script; write --sim=" .. path
            .. " to load it into a simulated API server"
    end
    return chunk, message
end

local function describe(problem)
    if problem == loop.ENDED then
        return problem
    end
    return trace.handler(problem)
end

local function run_script(options)
    if options.sim and options.server then
        complain("--sim and --server: choose one of them")
        return USAGE
    end
    local chunk, message = load_script(options.script)
    if not chunk then
        complain(message)
        return FAILED
    end
    local ok
    ok, message = set_defaults(options)
    if not ok then
        complain(message)
        return FAILED
    end
    _G.arg = { [0] = options.script, (table.unpack or unpack)(options.args) }
    _G.kubelua = kubelua
    loop.ends_waits = true
    loop.ends_at = options.duration and core.now() + options.duration or math.huge
    ok, message = xpcall(function()
        return chunk((table.unpack or unpack)(options.args))
    end, describe)
    if message == loop.ENDED then
        return STOPPED
    elseif not ok then
        complain(message)
        return FAILED
    end
    -- A script that dispatched by itself has had its run; one that waits for nothing is done.
    if not loop.has_run and not scheduler.is_idle() then
        loop.run()
    end
    return STOPPED
end

local function write_file(path, text)
    local file, message = io.open(path, "wb")
    if not file then
        return nil, message
    end
    local written, problem = file:write(text)
    local closed, last_problem = file:close()
    if not (written and closed) then
        return nil, path .. ": " .. (problem or last_problem)
    end
    return true
end

local function flatten(lists)
    local all = {}
    for _, list in ipairs(lists) do
        for _, item in ipairs(list) do
            all[#all + 1] = item
        end
    end
    return all
end

local function serve_sim(options)
    local address, port = options.listen:match("^%[?([^%[%]]+)%]?:(%d+)$")
    if not address then
        complain("--listen " .. options.listen .. ": write ADDRESS:PORT, such as 127.0.0.1:6443")
        return USAGE
    end
    local sim, message = Sim.new { load = flatten(options.load) }
    if not sim then
        complain(message)
        return FAILED
    end
    local url
    url, message = sim:listen { address = address, port = tonumber(port), tls = options.tls }
    if not url then
        complain(message)
        return FAILED
    end
    io.stdout:write("Simulated API server on ", url, "\n")
    if options.write_kubeconfig then
        local ok
        ok, message = write_file(options.write_kubeconfig, sim:kubeconfig())
        if not ok then
            complain(message)
            return FAILED
        end
        io.stdout:write("Try: kubectl --kubeconfig ", options.write_kubeconfig, " get namespaces\n")
    end
    io.stdout:flush()
    loop.run(options.duration)
    sim:close()
    return STOPPED
end

local function print_version()
    print("kubelua " .. core.version .. " (" .. (jit and jit.version or _VERSION) .. ")")
end

local function perform(options)
    if options.command == "version" then
        print_version()
        return STOPPED
    elseif options.command == "sim" then
        return serve_sim(options)
    end
    return run_script(options)
end

---Runs the command line and returns the exit status.
---@param arguments string[]
---@return integer
function command.main(arguments)
    io.stdout:setvbuf("line") -- what a script prints is seen at once, through a pipe too
    local options, problem = usage.parse(arguments)
    if not options then
        complain(problem .. "\nTry \"kubelua --help\", or \"kubelua run --help\".")
        return USAGE
    end
    local status = perform(options)
    local ok, message = core.flush_output()
    if not ok then
        complain(message)
        return status == STOPPED and FAILED or status
    end
    return status
end

return command
