-- The command line: kubelua run, sim, test, ... Each command loads only the modules that
-- it needs: starting takes milliseconds, and each module some tenths of one.
local core = require "kubelua.core"
core.open_streams() -- before the first descriptor is opened
core.leave_first_process() -- before the first thread is started
local complain = require "kubelua.cli.complaint"
local usage = require "kubelua.cli.usage"

local command = {}

local STOPPED, FAILED, USAGE = 0, 1, 2
local INTERRUPTED = 130 -- as in a shell: 128 + SIGINT
-- Commands with their own help.
local HELP = { run = true, plan = true, deploy = true, gateway = true, sim = true, record = true,
    test = true, completion = true, man = true }

local function print_version()
    print("kubelua " .. core.version .. " (" .. (jit and jit.version or _VERSION) .. ")")
end

local function print_manual(options)
    local manual = require "kubelua.cli.manual"
    io.stdout:write(options.shell and manual.completion(usage.parser(), options.shell)
        or manual.page(usage.parser(), options.page, core.version))
    return STOPPED
end

local function run_command(options, allow_all)
    if options.command == "version" then
        print_version()
        return STOPPED
    elseif options.command == "man" or options.command == "completion" then
        return print_manual(options)
    elseif options.command == "sim" then
        return require("kubelua.cli.serve")(options)
    elseif options.command == "plan" then
        return require("kubelua.cli.plan.command")(options, allow_all)
    elseif options.command == "record" then
        return require("kubelua.cli.record").run(options)
    elseif options.command == "test" then
        return require("kubelua.cli.test")(options, allow_all, core.now)
    elseif options.command == "deploy" then
        return require("kubelua.cli.deploy")(options, allow_all)
    elseif options.command == "gateway" then
        return require("kubelua.cli.gateway." .. options.action)(options)
    end
    return require("kubelua.cli.run")(options, allow_all)
end

-- A Ctrl-C during loading is handled by the interpreter: it raises "interrupted!".
local function describe_error(problem)
    if tostring(problem):find("interrupted!$") then
        return INTERRUPTED
    end
    return debug.traceback(tostring(problem), 2)
end

---Runs the command line and returns the exit status.
---@param arguments string[]
---@param allow_all fun()? called before a script runs: see own_folders.lua
---@return integer
function command.main(arguments, allow_all)
    io.stdout:setvbuf("line") -- a line that a script prints appears at once, through a pipe too
    local options, problem = usage.parse(arguments)
    if not options then
        complain(problem)
        io.stderr:write("Try \"kubelua --help\", or \"kubelua ",
            HELP[arguments[1]] and arguments[1] or "run", " --help\".\n")
        return USAGE
    end
    local done, status = xpcall(function()
        return run_command(options, allow_all)
    end, describe_error)
    if not done and status ~= INTERRUPTED then
        complain(status)
        status = FAILED
    end
    local ok, message = core.flush_output()
    if not ok then
        complain(message)
        return status == INTERRUPTED and status or FAILED
    end
    return status
end

return command
