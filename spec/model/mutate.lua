-- A mutation is: "# what it does to a user", the path, then lines that begin with " " (unchanged
-- lines before the change), "-" (removed) and "+" (added). It must fit the source at exactly one
-- place.
local path, output = arg[1], arg[2]
local source
local context, gone, come = {}, {}, {}

for line in io.lines(path) do
    local mark, rest = line:sub(1, 1), line:sub(2)
    if not source then
        source = mark ~= "#" and line or nil
    else
        local list = mark == "-" and gone or mark == "+" and come or context
        list[#list + 1] = rest
    end
end

local lines = {}
for line in io.lines(source) do
    lines[#lines + 1] = line
end

local function fits(at)
    for i, line in ipairs(context) do
        if lines[at + i - 1] ~= line then
            return false
        end
    end
    for i, line in ipairs(gone) do
        if lines[at + #context + i - 1] ~= line then
            return false
        end
    end
    return true
end

local found
for at = 1, #lines do
    if fits(at) then
        if found then
            io.stderr:write(path, ": fits twice into ", source, "\n")
            os.exit(1)
        end
        found = at
    end
end
if not found then
    io.stderr:write(path, ": does not fit into ", source, "\n")
    os.exit(1)
end

local out = assert(io.open(output, "w"))
for i = 1, found + #context - 1 do
    out:write(lines[i], "\n")
end
out:write(table.concat(come, "\n"), "\n")
for i = found + #context + #gone, #lines do
    out:write(lines[i], "\n")
end
out:close()
print(source)
