-- Lists the entries of a shared map, a part at a time: other work goes on between two parts, and
-- the owner may publish meanwhile. An entry that stays is listed at least once.
local ffi = require "ffi"
local library = require "resty.kubelua.library"

local walk = {}

local OK, TOO_SMALL = 0, 5 -- kl_shared_result
local FEW = 256 -- entries of a part

local counted = ffi.new("uint32_t[1]")
local capacity = FEW
local entries -- kl_shared_entry[]: made by the first walk, as few workers make one

-- One part, as lists of names: other walks use the same memory.
local function read_part(map, cursor)
    entries = entries or ffi.new("kl_shared_entry[?]", capacity)
    local result = library.kl_shared_walk(map.pointer, cursor, entries, capacity, counted)
    while result == TOO_SMALL do
        capacity = counted[0] * 2
        entries = ffi.new("kl_shared_entry[?]", capacity)
        result = library.kl_shared_walk(map.pointer, cursor, entries, capacity, counted)
    end
    if result ~= OK then
        return nil, ffi.string(library.kl_shared_result_name(result))
    end
    local keys, tables, bytes = {}, {}, {}
    for i = 1, counted[0] do
        local entry = entries[i - 1]
        tables[i] = ffi.string(entry.name, entry.table_length)
        keys[i] = ffi.string(entry.name + entry.table_length + 1, entry.key_length)
        bytes[i] = entry.bytes
    end
    return { keys = keys, tables = tables, bytes = bytes }
end

---Calls `visit` for each entry of a table, in no order; for some twice, if many go meanwhile.
---@param map resty.kubelua.Map
---@param table_name string? nil: of all tables
---@param pause fun() called between two entries; it may wait
---@param visit fun(key: string, bytes: integer, table_name: string) bytes that it takes in the map
---@return boolean?, string? why the walk ended early: "busy", "broken"
function walk.each(map, table_name, pause, visit)
    local cursor = ffi.new("kl_shared_cursor")
    cursor.table = table_name
    repeat
        local part, why = read_part(map, cursor)
        if not part then
            return nil, why
        end
        for i, key in ipairs(part.keys) do
            visit(key, part.bytes[i], part.tables[i])
            pause()
        end
    until cursor.place == 0
    return true
end

return walk
