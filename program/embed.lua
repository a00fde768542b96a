-- Writes embedded.c: Lua files as arrays of C. Usage:
-- lua5.4 program/embed.lua OUTPUT MODULE=FILE...
local output = table.remove(arg, 1)

local function read(path)
    local file = assert(io.open(path, "rb"))
    local text = file:read("a")
    file:close()
    return text
end

-- The bytes as numbers, 24 a line.
local function to_numbers(text)
    local numbers = text:gsub(".", function(byte)
        return byte:byte() .. ","
    end)
    return (numbers:gsub(("%d+,"):rep(24), "%0\n"))
end

local function chunk_name(module, path)
    local name = module:gsub("%.", "/")
    return "@(kubelua)/" .. name .. (path:match("/init%.lua$") and "/init.lua" or ".lua")
end

local file = assert(io.open(output, "w"))
file:write("/* Made by program/embed.lua. */\n#include \"embedded.h\"\n")
local rows = {}
for i, argument in ipairs(arg) do
    local module, path = argument:match("^([^=]+)=(.+)$")
    local text = read(path)
    file:write(("static const unsigned char file_%d[] = {\n%s0};\n"):format(i, to_numbers(text)))
    rows[i] = ("    {%q, %q, file_%d, %d},\n"):format(module, chunk_name(module, path), i, #text)
end
file:write("const embedded_file embedded_files[] = {\n", table.concat(rows),
    "    {NULL, NULL, NULL, 0},\n};\n")
assert(file:close())
