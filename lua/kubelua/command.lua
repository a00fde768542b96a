-- The command line: kubelua run | sim | version.
local argparse = require "argparse"
local Client = require "kubelua.client"
local core = require "kubelua.core"
local kubelua = require "kubelua"
local loop = require "kubelua.loop"
local scheduler = require "kubelua.scheduler"
local Sim = require "kubelua.sim"

local command = {}

local STOPPED, FAILED, USAGE = 0, 1, 2

local function complain(message)
    io.stderr:write("kubelua: ", message, "\n")
end

local function add_run(parser)
    local run = parser:command("run", "Run a script, then dispatch its events until it is stopped.")
    run:usage("Usage: kubelua run [OPTIONS] SCRIPT [ARGS]")
    run:argument("script", "A Lua script; \"-\" reads it from standard input.")
    run:argument("args", "What the script gets as arg[1], arg[2], ... and as ...; "
        .. "put -- before those that begin with a dash."):args("*")
    run:option("--kubeconfig", "The kubeconfig to use, instead of KUBECONFIG or ~/.kube/config.")
        :argname("FILE")
    run:option("--context", "The context of the kubeconfig to use."):argname("NAME")
    run:option("--server", "The API server's URL."):argname("URL")
    run:option("-n --namespace", "The namespace of kubelua.connect()."):argname("NS")
    run:flag("--sim", "Start a simulated API server in this process, and connect to it. "
        .. "--sim=FILE loads a manifest into it; may be given several times.")
    run:option("--sim-load"):argname("FILE"):count("*"):hidden(true)
    run:option("--for", "End after so many seconds."):argname("SECONDS"):target("duration")
        :convert(tonumber)
end

local function add_sim(parser)
    local sim = parser:command("sim", "Serve a simulated API server, for kubectl and all clients.")
    sim:option("--listen", "Where to serve; port 0 takes a free one."):argname("ADDRESS:PORT")
        :default("127.0.0.1:0")
    sim:option("--load", "Manifests to load."):argname("FILE"):args("+"):count("*")
    sim:flag("--tls", "Serve HTTPS, with a certificate made for this run.")
    sim:option("--write-kubeconfig", "Write a kubeconfig that leads to it.")
        :argname("FILE")
    sim:option("--for", "End after so many seconds."):argname("SECONDS"):target("duration")
        :convert(tonumber)
end

local function make_parser()
    local parser = argparse("kubelua", "React to a Kubernetes cluster from a Lua script.")
    parser:epilog("Try it without a cluster: kubelua run --sim script.lua\n"
        .. "Log level: KUBELUA_LOG=debug|info|warn|error|off")
    parser:command_target("command")
    parser:require_command(true)
    add_run(parser)
    add_sim(parser)
    parser:command("version", "Print the version and exit.")
    return parser
end

-- "--sim=FILE" is "--sim" and "--sim-load FILE": argparse has no optional values that do not
-- swallow the argument behind.
local function expand(arguments)
    local expanded = {}
    for i, argument in ipairs(arguments) do
        if argument == "--" then
            for j = i, #arguments do
                expanded[#expanded + 1] = arguments[j]
            end
            break
        end
        local manifest = argument:match("^%-%-sim=(.*)$")
        if manifest then
            expanded[#expanded + 1] = "--sim"
            expanded[#expanded + 1] = "--sim-load"
            expanded[#expanded + 1] = manifest
        else
            expanded[#expanded + 1] = argument
        end
    end
    return expanded
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
    if not chunk then
        return nil, message
    end
    return chunk
end

local function run_script(options)
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
    local trace
    ok, trace = xpcall(function()
        return chunk((table.unpack or unpack)(options.args))
    end, debug.traceback)
    if not ok then
        complain(tostring(trace))
        return FAILED
    end
    -- A script that dispatched by itself has had its run; one that waits for nothing is done.
    if not loop.has_run and not scheduler.is_idle() then
        loop.run(options.duration)
    end
    return STOPPED
end

local function write_file(path, text)
    local file, message = io.open(path, "wb")
    if not file then
        return nil, message
    end
    file:write(text)
    return file:close()
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
    local address, port = options.listen:match("^(.-):(%d+)$")
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

---Runs the command line and returns the exit status.
---@param arguments string[]
---@return integer
function command.main(arguments)
    io.stdout:setvbuf("line") -- what a script prints is seen at once, through a pipe too
    local parser = make_parser()
    function parser.error(_, message)
        complain(message .. "\nTry \"kubelua --help\", or \"kubelua run --help\".")
        os.exit(USAGE)
    end
    local options = parser:parse(expand(arguments))
    if options.command == "version" then
        print("kubelua " .. core.version .. " (" .. (jit and jit.version or _VERSION) .. ")")
        return STOPPED
    end
    if options.command == "sim" then
        return serve_sim(options)
    end
    return run_script(options)
end

return command
