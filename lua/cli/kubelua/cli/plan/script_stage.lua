-- Prepares this process for a script that kubelua plan rehearses, and restores it afterwards:
-- globals and modules, standard output, os.exit, the defaults of kubelua.connect, the clock.
local clients = require "kubelua.client"
local kubelua = require "kubelua"
local script_folder = require "kubelua.script_folder"
local tasks = require "kubelua.tasks"
local trace = require "kubelua.trace"
local waiting = require "kubelua.waiting"

local stage = {
    EXIT = trace.CANCELED, -- os.exit raises it: it ends a task without a word
}

local function print_error(...)
    local texts = {}
    for i = 1, select("#", ...) do
        texts[i] = tostring((select(i, ...)))
    end
    io.stderr:write(table.concat(texts, "\t"), "\n")
end

local function stop_script()
    waiting.stopping = true
    error(stage.EXIT, 0)
end

-- Standard output belongs to the command: what the script prints goes to standard error. And
-- os.exit ends the script, not the command.
local function divert_output()
    local stdout, output, before, exit = io.stdout, io.output(), print, os.exit
    rawset(io, "stdout", io.stderr)
    io.output(io.stderr)
    rawset(_G, "print", print_error)
    rawset(os, "exit", stop_script)
    return function()
        rawset(io, "stdout", stdout)
        io.output(output)
        rawset(_G, "print", before)
        rawset(os, "exit", exit)
    end
end

-- Returns a function that removes the globals and modules that have come since: another script may
-- be rehearsed next.
local function keep_names()
    local kept = {}
    for _, names in ipairs { _G, package.loaded } do
        kept[names] = {}
        for name in pairs(names) do
            kept[names][name] = true
        end
    end
    return function()
        for names, before in pairs(kept) do
            for name in pairs(names) do
                if not before[name] and not tostring(name):find("^kubelua") then
                    names[name] = nil
                end
            end
        end
    end
end

-- Where a function of KubeLua comes from: the files in that folder are KubeLua's own.
local function folder_of(f)
    return debug.getinfo(f, "S").source:match("^@?(.*/)kubelua/") or "kubelua/"
end

---True for the script, and for modules that lie in its folder or below the current one.
---@param script string its path
---@return fun(path: string): boolean
function stage.own_files(script)
    local folder = script:match("^(.*/)[^/]*$") or "./"
    local kubelua_folders = { folder_of(stage.own_files), folder_of(waiting.sleep),
        folder_of(require("kubelua.sim").new) }
    return function(path)
        for _, own in ipairs(kubelua_folders) do
            if path:sub(1, #own + 8) == own .. "kubelua/" then
                return false
            end
        end
        return path == script or path:sub(1, 1) ~= "/" or path:sub(1, #folder) == folder
    end
end

---Prepares everything for a script in a simulated cluster.
---@param options { script: string, args: string[]?, namespace: string?, own_namespace: string? }
---@param cluster kubelua.Sim
---@param clock kubelua.Clock
---@return fun() undo
function stage.set(options, cluster, clock)
    local defaults, before = clients.defaults, tasks.clock
    local undivert, forget = divert_output(), keep_names()
    clients.defaults = { sim = cluster, namespace = options.own_namespace or options.namespace }
    clients.is_in_pod = options.own_namespace ~= nil
    tasks.clock = clock
    rawset(_G, "arg", { [0] = options.script, (table.unpack or unpack)(options.args or {}) })
    rawset(_G, "kubelua", kubelua)
    script_folder.of_command(options.script)
    return function()
        tasks.clock, clients.defaults, clients.is_in_pod = before, defaults, false
        undivert()
        forget()
    end
end

return stage
