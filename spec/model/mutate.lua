-- Reads a table of mutations (spec/model/mutations.lua).
--   mutate.lua TABLE               prints their names, sorted
--   mutate.lua TABLE NAME OUTPUT   writes the changed source, and prints the source's path
local path, name, output = arg[1], arg[2], arg[3]
local mutations = dofile(path)

local function complain(message)
    io.stderr:write(path, ": ", name, " ", message, "\n")
    os.exit(1)
end

local function read_lines(source)
    local lines = {}
    for line in io.lines(source) do
        lines[#lines + 1] = line
    end
    return lines
end

-- The unchanged lines before the change, those that go, and those that come.
local function split_change(change)
    local parts = { [" "] = {}, ["-"] = {}, ["+"] = {} }
    for line in change:gmatch("(.-)\n") do
        local mark = line == "" and " " or line:sub(1, 1)
        local part = parts[mark] or complain("has a line without a mark: " .. line)
        part[#part + 1] = line:sub(2)
    end
    return parts[" "], parts["-"], parts["+"]
end

local function has_at(lines, at, wanted)
    for i, line in ipairs(wanted) do
        if lines[at + i - 1] ~= line then
            return false
        end
    end
    return true
end

local function find_place(lines, before, gone, source)
    local found
    for at = 1, #lines do
        if has_at(lines, at, before) and has_at(lines, at + #before, gone) then
            if found then
                complain("fits twice into " .. source)
            end
            found = at
        end
    end
    return found or complain("does not fit into " .. source)
end

local function print_names()
    local names = {}
    for each in pairs(mutations) do
        names[#names + 1] = each
    end
    table.sort(names)
    print(table.concat(names, "\n"))
end

local function write_changed()
    local mutation = mutations[name] or complain("is not in the table")
    local before, gone, come = split_change(mutation.change)
    local lines = read_lines(mutation.source)
    local at = find_place(lines, before, gone, mutation.source) + #before
    local out = assert(io.open(output, "w"))
    for i = 1, at - 1 do
        out:write(lines[i], "\n")
    end
    out:write(table.concat(come, "\n"), "\n")
    for i = at + #gone, #lines do
        out:write(lines[i], "\n")
    end
    out:close()
    print(mutation.source)
end

if name then
    write_changed()
else
    print_names()
end
