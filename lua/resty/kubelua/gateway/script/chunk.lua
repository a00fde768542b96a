-- Compiles the text of a script. The chunk runs once for each request, so that its variables are
-- those of the request: no request sees another's, and a worker keeps nothing of them.
local budget = require "resty.kubelua.gateway.script.budget"
local environment = require "resty.kubelua.gateway.script.environment"

local chunk = {}

chunk.KEY = "route.lua" -- of the ConfigMap
chunk.MOST = 64 * 1024 -- bytes of a text

local PHASES = { access = true, header_filter = true, body_filter = true, log = true }

---A script, compiled.
---@class resty.kubelua.gateway.Script
---@field name string "namespace/name" of its ConfigMap
---@field namespace string
---@field run function the chunk: returns the table of functions
---@field phases table<string, true>
---@field limits table of options.read
---@field failures integer

-- Its loops are never compiled: in machine code of LuaJIT no hook is called.
local function stay_interpreted(f)
    if rawget(_G, "jit") then
        require("jit").off(f, true)
    end
end

local function check_phases(list)
    local phases = {}
    if type(list) ~= "table" then
        return nil, "returns no table: its end is return { access = function(request) ... end }"
    end
    for name, value in next, list do
        if not PHASES[name] then
            return nil, ("returns a table with the field %s: access, header_filter, body_filter "
                .. "and log are known"):format(type(name) == "string" and name:sub(1, 100)
                or "of a " .. type(name))
        elseif type(value) ~= "function" then
            return nil, name .. " is no function"
        end
        phases[name] = true
    end
    if not next(phases) then
        return nil, "returns a table without a function"
    end
    return phases
end

-- Gives a chunk the environment of a request.
local set_environment = setfenv or function(f, env)
    debug.setupvalue(f, 1, env)
end

---Begins a script for a request: the table of its functions. Call it within the limits.
---@param script resty.kubelua.gateway.Script
---@return table
function chunk.begin(script)
    set_environment(script.run, environment.new())
    local list = script.run()
    if type(list) ~= "table" then
        error("returns no table", 0)
    end
    return list
end

---Compiles a text, and runs it once within the limits to see which phases it has.
---@param name string "namespace/name"
---@param text any
---@param limits table of options.read
---@return resty.kubelua.gateway.Script?
---@return string? message
function chunk.compile(name, text, limits)
    if type(text) ~= "string" then
        return nil, "has no key " .. chunk.KEY
    elseif #text > chunk.MOST then
        return nil, ("%s has %d bytes: %d at most"):format(chunk.KEY, #text, chunk.MOST)
    end
    local run, problem = load(text, ("=%s:%s"):format(name, chunk.KEY), "t", environment.new())
    if not run then
        return nil, (problem:sub(1, 1000))
    end
    stay_interpreted(run)
    local script = { name = name, namespace = name:match("^[^/]+"), run = run, limits = limits,
        failures = 0, reported = 1 }
    local trial = chunk.allowance(script)
    local ok, list = budget.call(trial, chunk.begin, script)
    if not ok then
        return nil, budget.describe(trial, list, limits)
    end
    script.phases, problem = check_phases(list)
    return script.phases and script, problem
end

---A run with whole limits.
---@param script resty.kubelua.gateway.Script
---@return resty.kubelua.gateway.ScriptRun
function chunk.allowance(script)
    return { script = script }
end

return chunk
