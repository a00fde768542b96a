-- cluster:run: runs a script under test in this process, with this cluster.
local log = require "kubelua.log"
local script_folder = require "kubelua.script_folder"
local simcore = require "kubelua.simcore"
local tasks = require "kubelua.tasks"

---@class kubelua.Sim
local methods = {}

local function pack_all(...)
    return { n = select("#", ...), ... }
end

local function unpack_all(list, first)
    return (table.unpack or unpack)(list, first or 1, list.n)
end

-- Calls a function with the cluster's clock. kubelua.connect finds the cluster through the clock,
-- and tasks keep their clock, so they find the cluster later too.
local function call_with_clock(self, f, ...)
    local before, state = tasks.clock, simcore.state(self)
    state.clock.cluster, state.clients = self, state.clients or {}
    tasks.clock = state.clock
    local results = pack_all(pcall(f, ...))
    tasks.clock = before
    if not results[1] then
        error(results[2], 0)
    end
    return unpack_all(results, 2)
end

-- The script with a global `arg` of its own. Its other globals are those of the test.
local function load_script(path, arguments)
    local own = setmetatable({ arg = { [0] = path, unpack_all(arguments) } },
        { __index = _G, __newindex = _G })
    local chunk, message = loadfile(path, "bt", own)
    if chunk and setfenv then
        setfenv(chunk, own)
    end
    return chunk, message or own.arg
end

local function raise_failed(ok, ...)
    if not ok then
        error((...), 0)
    end
    return ...
end

-- Runs the main part of the script in a coroutine, so that kubelua.run can return to the test.
local function run_main(self, chunk, arguments)
    if tasks.task_here() then -- the test itself runs in a task
        return chunk(unpack_all(arguments))
    end
    local main = coroutine.create(chunk)
    tasks.mains[main] = coroutine.yield
    local results = pack_all(raise_failed(coroutine.resume(main, unpack_all(arguments))))
    if coroutine.status(main) == "dead" then
        return unpack_all(results)
    end
    local mains = simcore.state(self).mains or {}
    simcore.state(self).mains = mains
    mains[#mains + 1] = main
end

---Runs a script whose kubelua.connect() opens this cluster, then and later. Returns what the script
---returns, and raises what it raises. Its handlers run when the test waits, such as in
---cluster:eventually. If the script calls kubelua.run(), cluster:run returns, and that call returns
---when the cluster is closed. If the cluster has a fake clock, its timers follow cluster:advance.
---@param path string
---@param ... any the arguments of the script
---@return any ...
function methods:run(path, ...)
    if type(path) ~= "string" then
        error("run: the path of a script expected, not a " .. type(path), 2)
    end
    if simcore.state(self).is_closed then
        error("run: the cluster is closed", 2)
    end
    local arguments = pack_all(...)
    local chunk, message = load_script(path, arguments)
    if not chunk then
        error("run: " .. message, 2)
    end
    local before, ran = rawget(_G, "arg"), script_folder.of_test(path, self)
    rawset(_G, "arg", message) -- for the script's modules
    local results = pack_all(pcall(call_with_clock, self, run_main, self, chunk, arguments))
    rawset(_G, "arg", before)
    ran()
    return raise_failed(unpack_all(results))
end

-- Lets each kubelua.run of a script return, once.
local function end_mains(self)
    local state = simcore.state(self)
    local mains = state.mains or {}
    state.mains = nil
    for _, main in ipairs(mains) do
        local ok, problem = pcall(call_with_clock, self, function()
            raise_failed(coroutine.resume(main))
        end)
        if not ok then
            log("error", "after kubelua.run: %s", tostring(problem))
        end
    end
end

---Closes the cluster, and the clients and timers of the scripts that it ran.
function methods:close()
    local state = simcore.state(self)
    end_mains(self)
    state.clock:close()
    for _, client in ipairs(state.clients or {}) do
        client:close()
    end
    state.clients = nil
    state.is_closed = true
    simcore.close(self)
end

return methods
