-- CMakeLists.txt has the version; all other files that tell one tell the same. In the root of the
-- tree: lua5.4 spec/lint/version.lua prints a line for each that differs; exit status 1 then.
package.path = (arg and arg[0] or ""):gsub("[^/]*$", "") .. "?.lua;" .. package.path
local tree = require("tree").here()

local version = tree.read("CMakeLists.txt"):match("project%(kubelua VERSION ([%d.]+)")
local minor = version:match("^%d+%.%d+")

-- What a file says, as a pattern with the version in it, and what that is to be.
local SAID = {
    { "CHANGELOG.md", "\n## ([%d.]+)", version },
    { "sim/CHANGELOG.md", "\n## ([%d.]+)", version },
    { "dist.ini", "\nversion = (%S+)", version },
    { "docs/C.md", "libkubelua%.so%.([%d.]+)", minor },
    { "cmake/core.cmake", "libkubelua%.so%.([%d.]+)", minor },
    { "core/include/kubelua/version.h", 'KL_VERSION "(%S+)"', version },
    { "core/include/kubelua/version.h", "KL_VERSION_NUMBER %((.-)%)",
        version:gsub("^(%d+)%.(%d+)%.(%d+)$", "%1 * 10000 + %2 * 100 + %3") },
}

local differ = 0
for _, said in ipairs(SAID) do
    local path, pattern, wanted = said[1], said[2], said[3]
    local found = (tree.read(path) or ""):match(pattern)
    if found ~= wanted then
        differ = differ + 1
        print(("%s: says version %s; it is %s, as in CMakeLists.txt"):format(path, found, wanted))
    end
end
if differ > 0 then
    os.exit(1)
end
print("All tell version " .. version .. ".")
