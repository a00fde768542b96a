-- Writes the rockspec of this tree, so that its list of files cannot be out of date:
--   lua5.4 rockspec/rockspec.lua        in the root of the tree; prints the path of what it wrote
--   luarocks --lua-version=5.4 make rockspec/kubelua-VERSION-1.rockspec
-- LuaRocks compiles each C module itself ("builtin"): it needs a C compiler and the libraries, but
-- neither CMake nor make. kubelua/core.so has the core in it; rockspec/loaded.c tells how the other
-- modules find it there.

local function read(path)
    local file = assert(io.open(path))
    local text = file:read("*a")
    file:close()
    return text
end

local version = read("CMakeLists.txt"):match("project%(kubelua VERSION ([%d.]+)")

-- Files of a folder and of the folders in it, in an order that depends on their names only.
local function find(folder, pattern)
    local files = {}
    local pipe = assert(io.popen("find " .. folder .. " -name '" .. pattern .. "' | LC_ALL=C sort"))
    for path in pipe:lines() do
        files[#files + 1] = path
    end
    pipe:close()
    assert(#files > 0, folder .. " has no " .. pattern)
    return files
end

local text = {}

local function add(format, ...)
    text[#text + 1] = select("#", ...) > 0 and format:format(...) or format
end

local function add_list(name, list, indent)
    add("%s%s = {", indent, name)
    for _, item in ipairs(list) do
        add("%s    %q,", indent, item)
    end
    add(indent .. "},")
end

-- The prefix of variables for a library (CURL_DIR), and what is linked. No header is named, since
-- LuaRocks does not know where Debian has those of one architecture; the compiler does.
local LIBRARIES = {
    { "CURL", "curl" },
    { "GNUTLS", "gnutls" },
    { "MICROHTTPD", "microhttpd" },
    { "PCRE2", "pcre2-8" },
    { "YAML", "yaml" },
    { "YYJSON", "yyjson" },
    { "ZLIB", "z" },
    { "ZSTD", "zstd" },
}

local function add_c_module(name, used, folders, sources, incdirs)
    local defines = { "_GNU_SOURCE", "NDEBUG" }
    local libraries, libdirs = {}, {}
    for _, library in ipairs(LIBRARIES) do
        if used:find(library[1], 1, true) then
            libraries[#libraries + 1] = library[2]
            libdirs[#libdirs + 1] = "$(" .. library[1] .. "_LIBDIR)"
            incdirs[#incdirs + 1] = "$(" .. library[1] .. "_INCDIR)"
        end
    end
    libraries[#libraries + 1] = "pthread"
    libraries[#libraries + 1] = "m"
    for _, folder in ipairs(folders) do
        for _, source in ipairs(find(folder, "*.c")) do
            sources[#sources + 1] = source
        end
    end
    sources[#sources + 1] = "rockspec/loaded.c"
    add("        [%q] = {", name)
    add_list("sources", sources, "            ")
    add_list("defines", defines, "            ")
    add_list("incdirs", incdirs, "            ")
    add_list("libraries", libraries, "            ")
    add_list("libdirs", libdirs, "            ")
    add("        },")
end

add("-- Written by rockspec/rockspec.lua.")
add('rockspec_format = "3.0"')
add('package = "kubelua"')
add('version = "%s-1"', version)
add("source = {")
add('    url = "git+https://github.com/kubelua/kubelua.git",')
add('    tag = "v%s",', version)
add("}")
add([[
description = {
    summary = "Kubernetes informers for Lua, over a C core",
    detailed = "React to a Kubernetes cluster from a Lua script: list-watch, caches, handlers.",
    license = "MIT",
}
supported_platforms = { "linux" }
-- Lua 5.1 is LuaJIT here.
dependencies = { "lua >= 5.1, < 5.5, ~= 5.2, ~= 5.3", "lua-cjson", "argparse", "luassert" }
external_dependencies = {]])
for _, library in ipairs(LIBRARIES) do
    add("    %s = { library = %q },", library[1], library[2])
end
add([[
}
-- It finds its interpreter itself: LuaRocks' wrapper would run LuaJIT's in plain Lua 5.1.
deploy = { wrap_bin_scripts = false }
build = {
    type = "builtin",
    install = {
        bin = { kubelua = "rockspec/kubelua" },
        lua = {]])
-- What nginx includes, beside the Lua files of the gateway.
for _, path in ipairs(find("lua/resty", "*.conf")) do
    add("            [%q] = %q,", path:sub(5, -6):gsub("/", "."), path)
end
add([[
        },
    },
    modules = {]])
-- What the C modules check and push with is in each of them, since those names are not exported.
add_c_module("kubelua.core", "CURL YAML YYJSON ZLIB ZSTD", { "core", "lua/src" }, {},
    { "core", "core/include", "lua/src" })
add_c_module("kubelua.serve", "GNUTLS MICROHTTPD", { "lua/serve" },
    { "lua/src/check.c", "lua/src/misuse.c", "lua/src/push.c" },
    { "core/include", "lua/src", "lua/serve" })
add_c_module("kubelua.simcore", "GNUTLS MICROHTTPD PCRE2 YAML YYJSON ZLIB",
    { "sim/core", "sim/lua/src" },
    { "lua/src/check.c", "lua/src/misuse.c", "lua/src/push.c", "lua/src/reply.c",
        "lua/src/transport.c" },
    { ".", "core", "core/include", "sim/core/include", "lua/src", "sim/lua/src" })
for _, folder in ipairs { "lua", "lua/cli", "sim/lua" } do
    for _, part in ipairs(folder == "lua" and { "kubelua", "resty" } or { "kubelua" }) do
        for _, path in ipairs(find(folder .. "/" .. part, "*.lua")) do
            local module = path:sub(#folder + 2, -5):gsub("/", ".")
            add("        [%q] = %q,", module, path)
        end
    end
end
add("    },")
add("}")

local path = "rockspec/kubelua-" .. version .. "-1.rockspec"
local file = assert(io.open(path, "w"))
assert(file:write(table.concat(text, "\n"), "\n"))
assert(file:close())
print(path)
