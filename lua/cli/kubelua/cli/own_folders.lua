-- The first file of the command: KubeLua's modules come from KubeLua's own folders only, never from
-- the current folder, whatever lies there. bin/kubelua loads this file by its path, since `require`
-- itself is not to be trusted before it.

local function is_own(name)
    return name == "kubelua" or name:find("^kubelua%.") or name:find("^resty%.kubelua")
end

-- Without the entries that depend on the current folder, such as "./?.lua", which is the first one
-- in LuaJIT.
local function keep_absolute(path)
    local kept = {}
    for entry in path:gmatch("[^;]+") do
        if entry:sub(1, 1) == "/" then
            kept[#kept + 1] = entry
        end
    end
    return table.concat(kept, ";")
end

local function join(own, all)
    return own == "" and all or own .. ";" .. all
end

---@param path string where KubeLua's Lua modules are, as in package.path; "": in no folder
---@param cpath string the same of its C modules
---@param load (fun(name: string): function?, string?)? finds them instead, and the name of a file:
--- in the command that is one file
---@return fun() allow_all from now on, modules of other names are searched everywhere: for scripts
return function(path, cpath, load)
    local function search(name)
        if not is_own(name) then
            return nil
        elseif load then
            local chunk, source = load(name)
            return chunk or error("module '" .. name .. "' not found", 0), source
        end
        local file, missed = package.searchpath(name, path)
        if file then
            return assert(loadfile(file)), file
        end
        local library, missed_too = package.searchpath(name, cpath)
        if library then
            return assert(package.loadlib(library, "luaopen_" .. name:gsub("%.", "_"))), library
        end
        -- In Lua 5.4, the lists of files do not begin with a new line.
        error("module '" .. name .. "' not found:"
            .. (missed .. "\n" .. missed_too):gsub("[\n\t]*(no file)", "\n\t%1"), 0)
    end
    table.insert(package.searchers or package.loaders, 2, search) -- after package.preload
    local all, all_c = package.path, package.cpath
    package.path = join(path, keep_absolute(all))
    package.cpath = join(cpath, keep_absolute(all_c))
    return function()
        package.path, package.cpath = join(path, all), join(cpath, all_c)
    end
end
