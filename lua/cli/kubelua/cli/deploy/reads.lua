-- For kubelua deploy: notes which files a script opens or runs while it is planned. Only relative
-- paths and paths below the script's folder count: other files are not the script's own.
local rehearsal = require "kubelua.cli.plan.rehearsal"
local script_folder = require "kubelua.script_folder"

local reads = {}

local function source_of(what)
    local info = debug.getinfo(what, "S")
    return info and info.source
end

-- KubeLua's own files that load the script and its modules. Calls from there are not noted:
-- deploy/files.lua finds the script and its modules by itself.
local LOADERS = { [source_of(rehearsal.run)] = true, [source_of(script_folder.compile)] = true }

-- The functions by which a script can read a file. is_lua: the function runs the file as Lua.
local READERS = {
    { of = io, name = "open" }, { of = io, name = "lines" }, { of = io, name = "input" },
    { of = _G, name = "dofile", is_lua = true }, { of = _G, name = "loadfile", is_lua = true },
}

local function is_readable(open, path)
    local file = open(path, "rb")
    if file then
        file:close()
    end
    return file ~= nil
end

-- Replaces one of these functions by one that also notes the path. Returns a function that undoes
-- it.
local function watch(each, folder, open, note)
    local before = each.of[each.name]
    rawset(each.of, each.name, function(...)
        local path, mode = ...
        if type(path) == "string" and (path:sub(1, 1) ~= "/" or path:find(folder, 1, true) == 1)
            and not (each.name == "open" and mode and not tostring(mode):find("^r"))
            and not (each.is_lua and LOADERS[source_of(3)]) and is_readable(open, path) then
            note(path, each.is_lua)
        end
        return before(...)
    end)
    return function()
        rawset(each.of, each.name, before)
    end
end

---Begins to note.
---@param script string its path
---@return fun(): { lua: string[], data: string[] } stop returns the paths, each once
function reads.start(script)
    local folder, seen = script:match("^.*/") or "./", {}
    local found, undos, open = { lua = {}, data = {} }, {}, io.open
    local function note(path, is_lua)
        local list = is_lua and found.lua or found.data
        if not seen[path] then
            seen[path] = true
            list[#list + 1] = path
        end
    end
    for i, each in ipairs(READERS) do
        undos[i] = watch(each, folder, open, note)
    end
    return function()
        for i = #undos, 1, -1 do
            undos[i]()
        end
        return found
    end
end

return reads
