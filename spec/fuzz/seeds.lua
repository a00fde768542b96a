-- Many inputs of a fuzz target in one file: for each a line with its length and its name, its
-- bytes, and a line feed. An input that only reaches an edge has no name.
--   seeds.lua unpack FILE FOLDER   writes each to a file of FOLDER, called by its name or number
--   seeds.lua pack FOLDER FILE     the reverse, in the order of the names
local command, from, to = arg[1], arg[2], arg[3]

local function read(path)
    local file = assert(io.open(path, "rb"))
    local text = file:read("*a")
    file:close()
    return text
end

local function write(path, text)
    local file = assert(io.open(path, "wb"))
    file:write(text)
    file:close()
end

local function unpack_seeds()
    local text, at, count = read(from), 1, 0
    while at <= #text do
        local digits, name, begins = text:match("^(%d+) ?([%w_-]*)\n()", at)
        local length = assert(tonumber(digits), from .. ": no length at byte " .. at)
        local ends = begins + length
        assert(text:sub(ends, ends) == "\n", from .. ": a record is cut at byte " .. at)
        if name == "" then
            count = count + 1
            name = string.format("%04d", count)
        end
        write(to .. "/" .. name, text:sub(begins, ends - 1))
        at = ends + 1
    end
end

local function pack_seeds()
    local records = {}
    local names = assert(io.popen("LC_ALL=C ls " .. from))
    for name in names:lines() do
        local text = read(from .. "/" .. name)
        local called = name:match("^%d%d%d%d$") and "" or " " .. name
        records[#records + 1] = #text .. called .. "\n" .. text .. "\n"
    end
    names:close()
    write(to, table.concat(records))
end

assert(({ unpack = unpack_seeds, pack = pack_seeds })[command], "unpack or pack?")()
