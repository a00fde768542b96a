-- The modules of a script: `require` also finds files in the script's own folder, after all other
-- places. KubeLua's own modules are never searched there.
local tasks = require "kubelua.tasks"

local script_folder = {}

local of_command -- the folder of the command's script
local of_cluster = setmetatable({}, { __mode = "k" }) -- cluster -> folders of the scripts in it
local of_tests = {} -- names of the modules that scripts under test have loaded, a set
local is_installed = false
-- Of kubelua run --reload: the modules that were loaded before the script, the paths of the others
-- (false: they are not the script's own), and those that `search` has found.
local before_command, paths, found = {}, {}, {}

-- Set by kubelua run --reload: reads the files of the script's modules, and so knows them.
script_folder.read = nil ---@type (fun(path: string): string?)?

local function is_own(name)
    return name == "kubelua" or name:find("^kubelua%.") or name:find("^resty%.kubelua")
end

-- The folders of the script that calls `require`.
local function folders_here()
    local cluster = tasks.clock_here().cluster
    return cluster and of_cluster[cluster] or { of_command }
end

---Compiles a text as loadfile does.
---@param text string
---@param path string
---@return function?, string?
function script_folder.compile(text, path)
    text = text:gsub("^\239\187\191", "")
    return load(text:gsub("^#[^\n]*", ""), "@" .. path)
end

-- The chunk of a file; nil: there is none; nil, message: it cannot be compiled.
local function load_module(path)
    local text = script_folder.read(path)
    if text then
        return script_folder.compile(text, path)
    end
end

local function is_file(path)
    if script_folder.read then
        return script_folder.read(path) ~= nil
    end
    local file = io.open(path, "rb")
    local is_readable = file and file:read(0) ~= nil or false
    if file then
        file:close()
    end
    return is_readable
end

-- Lua 5.4 begins each part of the message of `require` with a new line; LuaJIT does not.
local BREAK = _VERSION == "Lua 5.4" and "" or "\n\t"

local function search(name)
    if is_own(name) then
        return nil
    end
    local missed = {}
    for _, folder in ipairs(folders_here()) do
        for _, suffix in ipairs { ".lua", "/init.lua" } do
            local path = folder .. "/" .. name:gsub("%.", "/") .. suffix
            if is_file(path) then
                if tasks.clock_here().cluster then
                    of_tests[name] = true
                end
                local chunk, message = (script_folder.read and load_module or loadfile)(path)
                found[name] = path
                return chunk or error(message, 0), path
            end
            missed[#missed + 1] = "no file '" .. path .. "'"
        end
    end
    return #missed > 0 and BREAK .. table.concat(missed, "\n\t") or nil
end

local function install()
    if not is_installed then
        is_installed = true
        table.insert(package.searchers or package.loaders, search)
    end
end

local function folder_of(path)
    return path:match("^(.*)/[^/]*$") or "."
end

local function loaded_names()
    local names = {}
    for name in pairs(package.loaded) do
        names[name] = true
    end
    return names
end

---The command runs this script.
---@param path string
function script_folder.of_command(path)
    install()
    of_command, before_command = folder_of(path), loaded_names()
end

-- True if a module has come from the script's folder, or from one that depends on the current
-- folder.
local function is_of_script(name, folder)
    local path = type(name) == "string" and not is_own(name)
        and package.searchpath(name, package.path)
    return path and (path:sub(1, 1) ~= "/" or path:sub(1, #folder + 1) == folder .. "/")
end

local function find_own(name)
    local path = found[name] or package.searchpath(name, package.path)
    local is_own_file = path and (path:sub(1, 1) ~= "/"
        or path:sub(1, #of_command + 1) == of_command .. "/")
    return is_own_file and path or false
end

---The modules of the command's script that are loaded now: from its folder, or from a folder that
---depends on the current one.
---@return table<string, string> paths by name
function script_folder.own_modules()
    local own = {}
    for name in pairs(package.loaded) do
        if type(name) == "string" and not before_command[name] and not is_own(name) then
            if paths[name] == nil then
                paths[name] = find_own(name)
            end
            own[name] = paths[name] or nil
        end
    end
    return own
end

---The script is loaded anew: its modules may be in other places. The result takes that back.
---@return fun()
function script_folder.forget()
    local paths_before, found_before = paths, found
    paths, found = {}, {}
    return function()
        paths, found = paths_before, found_before
    end
end

---A test runs this script in a cluster: its modules are loaded anew, but for those that the test
---itself has loaded. The result is to be called once the main part of the script has run.
---@param path string
---@param cluster kubelua.Sim
---@return fun() ran
function script_folder.of_test(path, cluster)
    install()
    local folder = folder_of(path)
    of_cluster[cluster] = of_cluster[cluster] or {}
    table.insert(of_cluster[cluster], 1, folder)
    for name in pairs(of_tests) do
        package.loaded[name] = nil
    end
    of_tests = {}
    local before = loaded_names()
    return function()
        for name in pairs(package.loaded) do
            if not before[name] and is_of_script(name, folder) then
                of_tests[name] = true
            end
        end
    end
end

return script_folder
