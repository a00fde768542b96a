-- kubelua.exec: runs a program, without a shell, while the loop goes on. The core starts and
-- watches it.
local core = require "kubelua.core"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"
local scheduler = require "kubelua.scheduler"
local sources = require "kubelua.sources"
local tasks = require "kubelua.tasks"
local waiting = require "kubelua.waiting"

---What kubelua.exec takes beside the program.
---@class kubelua.ExecOptions
---@field stdin? string what the program reads; default: nothing
---@field timeout? number seconds, then it is ended; default: no limit
---@field grace? number seconds between SIGTERM and SIGKILL when it is ended early (5); 0: only
---SIGKILL
---@field env? table<string, string|false> added to this process's environment; false removes one
---@field cwd? string the folder in which it runs

local TYPES = { stdin = "string", timeout = "number", grace = "number", env = "table",
    cwd = "string" }

local GRACE = 5 -- seconds; the default
local SLACK = 0.1 -- seconds that a killed program needs at most: see kl_process_cancel

---The outcome of a program.
---@class kubelua.ExecResult
---@field status integer? its exit status
---@field signal integer? the signal that ended it; then there is no status
---@field stdout string
---@field stderr string

local SHORTEST = 0.001 -- seconds; 0 would mean "no limit" in the core

local function check_argv(argv)
    if type(argv) ~= "table" or #argv == 0 then
        misuse("exec: an array expected, such as { \"nginx\", \"-s\", \"reload\" }")
    end
    for _, text in ipairs(argv) do
        if type(text) ~= "string" then
            misuse("exec: the program and its arguments must be strings, not a %s", type(text))
        end
    end
end

-- The changes of the environment as the core takes them: "NAME=value" sets, "NAME" removes.
local function list_changes(env)
    local changes = env and {}
    for name, value in pairs(env or {}) do
        if type(name) ~= "string" or name == "" or name:find("[=%z]") then
            misuse("exec: env takes values by name, such as { LANG = \"C\" }")
        end
        changes[#changes + 1] = value and name .. "=" .. tostring(value) or name
    end
    return changes
end

-- A cancelled task waits on while its program ends, and the end of a run waits with it.
local function wait_in_task(process, task, grace)
    while not core.process_is_complete(process) do
        if task.ends_by then
            tasks.suspend_anyway()
        elseif tasks.suspend() then
            task.ends_by = core.now() + grace + SLACK
            core.process_cancel(process)
        end
    end
    task.ends_by = nil
end

local function wait_outside(process, grace)
    local function is_over()
        return core.process_is_complete(process)
    end
    local ok, problem, is_ended = pcall(waiting.await, "kubelua.exec", nil, is_over, function() end)
    if not is_over() then
        core.process_cancel(process)
        local deadline = core.now() + grace + SLACK
        while not is_over() and core.now() < deadline do
            scheduler.round(deadline, is_over)
        end
    end
    if not ok then
        error(problem, 0)
    end
    return is_ended
end

local function wait_for_process(process, task, grace)
    if task then
        return wait_in_task(process, task, grace)
    end
    return wait_outside(process, grace)
end

local function return_outcome(argv, result, message, code)
    if not result then
        return nil, message, code
    elseif result.status == 0 then
        return result
    end
    message = argv[1] .. (result.status and ": exit status " .. result.status
        or ": ended by signal " .. result.signal)
    local said = result.stderr:match("([^\n]*)\n*$")
    if said ~= "" then
        message = message .. ": " .. said
    end
    return nil, core.escape(message), "exit_status", result
end

---Runs a program to its end, and waits for it as every call does. If it is ended early, its process
---group gets SIGTERM, and SIGKILL once the program has ended or its grace is over. With an exit
---status other than 0 it returns nil, message, "exit_status", result.
---@param argv string[] the program first; it is looked up in PATH if it has no slash
---@param given kubelua.ExecOptions?
---@return kubelua.ExecResult?, string?, string?, kubelua.ExecResult?
return function(argv, given)
    check_argv(argv)
    given = options.optional("exec", given, TYPES)
    local task = tasks.current("kubelua.exec")
    if task and task.is_cancelled then
        tasks.end_if_cancelled()
    end
    local timeout, grace = given.timeout, given.grace or GRACE
    local id = sources.new_id()
    local process, message, code = core.process_start({
        args = argv, env = list_changes(given.env), input = given.stdin, cwd = given.cwd,
        timeout = timeout and timeout >= 0 and math.max(timeout, SHORTEST) or timeout,
        grace = grace,
    }, tasks.poller, id)
    if not process then
        return nil, message, code
    end
    sources.add(id, function()
        if task then
            tasks.wake(task)
        end
    end)
    local ok, is_ended = pcall(wait_for_process, process, task, grace)
    sources.remove(id)
    local result
    if ok and not is_ended then
        result, message, code = core.process_result(process)
    end
    core.process_free(process)
    if not ok then
        error(is_ended, 0)
    elseif is_ended then
        return nil, waiting.CANCELED, "canceled"
    end
    tasks.end_if_cancelled()
    return return_outcome(argv, result, message, code)
end
