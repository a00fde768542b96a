-- The first Lua file of the one-file command: where `require` finds modules. KubeLua's own,
-- argparse, cjson and luassert come out of the file only, whatever LUA_PATH has; a script's come
-- from LUA_PATH and its folder, as with bin/kubelua.
local load_embedded = ...

local allow_all = load_embedded("kubelua.cli.own_folders")()("", "", load_embedded)

package.loaded.argparse = load_embedded("argparse")()

local function search_luassert(name)
    if name == "say" or name:find("^luassert") then
        return load_embedded(name)
    end
    return nil
end

local function search_embedded(name)
    local chunk, source = load_embedded(name)
    if chunk then
        return chunk, source
    end
    return "\n\tno module '" .. name .. "' in this file, which cannot load modules in C: "
        .. "take one in Lua, or KubeLua's shared build"
end

-- A file without a dynamic linker has nothing to find with the searchers of C modules: they are the
-- last two of preload, KubeLua's own, Lua files, C modules, and C modules in a parent's file.
local searchers = package.searchers or package.loaders
searchers[#searchers] = nil
searchers[#searchers] = search_embedded
table.insert(searchers, 2, search_luassert)

return require("kubelua.cli.command").main(arg, allow_all)
