-- kubelua run: runs a script, then dispatches its events until it is stopped.
local clients = require "kubelua.client"
local complain = require "kubelua.cli.complaint"
local core = require "kubelua.core"
local kubelua = require "kubelua"
local log_lines = require "kubelua.log_lines"
local loop = require "kubelua.loop"
local outcome = require "kubelua.cli.outcome"
local Pass = require "kubelua.cli.pass"
local scheduler = require "kubelua.scheduler"
local script_folder = require "kubelua.script_folder"
local tasks = require "kubelua.tasks"
local trace = require "kubelua.trace"
local waiting = require "kubelua.waiting"

local STOPPED, FAILED, CHANGES = 0, 1, 2

-- The program lua5.4 starts with the generational collector, which stops a script with a heap of a
-- few MB for 2 ms at a time, and now and then for 20 (bench/RESULTS.md, Controllers). A script may
-- choose again. Pause 200 %, 25 % of work for each step, steps of 1 KB.
local function set_collector()
    if _VERSION == "Lua 5.4" then
        collectgarbage("incremental", 200, 25, 10)
    end
end

local function set_defaults(options)
    local defaults = clients.defaults
    defaults.kubeconfig = options.kubeconfig
    defaults.context = options.context
    defaults.server = options.server
    defaults.namespace = options.namespace
    if options.record then
        local recorder, problem = require("kubelua.cli.record").to(options.record)
        if not recorder then
            return nil, problem
        end
        clients.recorder = recorder
    end
    if not options.sim then
        return true
    end
    local sim, message = require("kubelua.sim").new { load = options.sim_load }
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
        return nil, path .. " is not a Lua script; to load it into a simulated API server, "
            .. "write --sim=" .. path
    end
    return chunk, message
end

local function describe_error(problem)
    if problem == waiting.ENDED then
        return problem
    end
    return trace.handler(problem)
end

local function fail_run(message, script)
    complain(message)
    if tostring(message):find("no configuration:", 1, true) then
        complain("to try it without a cluster: kubelua run --sim " .. script)
    end
    return FAILED
end

-- Dispatches events once the script has returned.
local function dispatch_events()
    -- If the script has called kubelua.run, that was the run. If nothing is left to wait for, the
    -- run is over.
    if waiting.has_run then
        return
    elseif not scheduler.is_idle() then
        return loop.run_until_idle()
    end
    local unheard = outcome.unheard()
    if #unheard > 0 then
        complain("the script has ended, and its informers have no handlers ("
            .. table.concat(unheard, ", ") .. "): add handlers with informer:on { ... }, or call "
            .. "informer:wait_synced() before you read their caches")
    end
end

-- The exit status of a run that ended without an error.
local function exit_status(signal, is_idle, duration)
    if signal then
        return STOPPED
    end
    local is_late = core.now() >= waiting.ends_at
    local unlisted = is_late and outcome.unlisted()
    local unreached = is_late and not unlisted and outcome.unreached()
    if unlisted then
        complain(string.format("a controller has not begun within the %g seconds of --for: %s",
            duration, unlisted))
        return FAILED
    elseif unreached then
        complain(string.format("no informer had its first list within the %g seconds of --for: %s",
            duration, unreached))
        return FAILED
    elseif tasks.failures > 0 and is_idle then
        complain("a function of kubelua.spawn failed, and nothing is left to wait for")
        return FAILED
    end
    return STOPPED
end

-- Begins the one pass of --once or --dry-run; nil: the run has no end of its own.
local function begin_pass(options)
    if not options.once and not options.dry_run then
        return nil
    end
    local pass
    pass, loop.is_complete = Pass.begin(not options.dry_run)
    if options.dry_run then
        local object_diff = require "kubelua.cli.dry_run.object_diff"
        local has_colours = core.has_colours()
        pass.trial = require("kubelua.cli.dry_run").begin(function(text)
            io.stdout:write(has_colours and object_diff.colour(text) or text)
        end)
    end
    return pass
end

-- The exit status of a pass that ended without an error of the script.
local function pass_status(pass, signal, duration)
    local trial, problem = pass.trial, pass:failure(signal, duration)
    if not problem and trial and trial.refusals > 0 then
        return FAILED -- each was told
    elseif problem then
        complain((trial and "--dry-run: " or "--once: ") .. problem
            .. (trial and trial.changes > 0 and "; nothing that the dry run has shown was written, "
            .. "so what needs it may fail" or ""))
        return FAILED
    end
    return trial and trial.changes > 0 and CHANGES or STOPPED
end

-- Runs the script, and then its events; returns the exit status.
local function run_script(chunk, options, allow_all)
    _G.arg = { [0] = options.script, (table.unpack or unpack)(options.args) }
    _G.kubelua = kubelua
    waiting.ends_waits, waiting.grace = true, options.grace or waiting.grace
    waiting.ends_at = options.duration and core.now() + options.duration or math.huge
    if allow_all then
        allow_all()
    end
    if options.script ~= "-" and not options.reload then
        script_folder.of_command(options.script)
    end
    set_collector()
    local pass = begin_pass(options)
    local ok, message, signal
    if options.reload then
        ok, message, signal = require("kubelua.cli.reload")(options, describe_error)
    else
        ok, message = xpcall(chunk, describe_error, (table.unpack or unpack)(options.args))
        signal = ok and dispatch_events()
    end
    local is_idle = scheduler.is_idle()
    -- What has interrupted the script: in its own kubelua.run, or while it waited outside of a run.
    local interrupt = loop.signal or tasks.poller:caught()
    if pass then
        pass:close(ok and loop.ended_at or core.now())
    end
    loop.finish()
    if clients.recorder then
        clients.recorder:finish()
    end
    if not ok and message ~= waiting.ENDED then
        return fail_run(message, options.script)
    elseif loop.tell_hopeless() then
        return fail_run(loop.tell_hopeless(), options.script)
    elseif pass then
        return pass_status(pass, signal or interrupt, options.duration)
    end
    return exit_status(signal, is_idle, options.duration)
end

---Runs the command; returns the exit status.
---@param options table of the command line
---@param allow_all fun()? lets the script's modules come from every folder
---@return integer
return function(options, allow_all)
    log_lines.set(options.log_level, options.log)
    local chunk, message
    if not options.reload then
        chunk, message = load_script(options.script)
    end
    if not chunk and not options.reload then
        complain(message)
        return FAILED
    end
    local ok, server
    ok, message = set_defaults(options)
    if ok and options.serve then
        server, message = require("kubelua.cli.serving")(options.serve)
        ok = server
    end
    local admit
    if ok and (options.admit or options.admit_cert or options.admit_key or options.admit_service
        or options.admit_url) then
        admit, message = require("kubelua.cli.admitting")(options)
        ok = admit
    end
    if not ok then
        complain(message)
        return FAILED
    end
    local status = run_script(chunk, options, allow_all)
    for _, one in pairs { serve = server, admit = admit } do
        one:stop()
    end
    return status
end
