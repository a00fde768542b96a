-- RequestHeaderModifier and ResponseHeaderModifier of the Gateway API: sets, adds and removes
-- headers through the functions that read and write them.
local headers = {}

-- Of entries with one name, in any case of letters, the first counts.
local function first_of_each(list)
    local kept, seen = {}, {}
    for _, header in ipairs(list or {}) do
        local name = header[1]:lower()
        if not seen[name] then
            seen[name] = true
            kept[#kept + 1] = header
        end
    end
    return kept
end

-- Made once a filter.
local function prepare(filter)
    local done = { set = first_of_each(filter.set), add = first_of_each(filter.add),
        remove = filter.remove or {} }
    filter.ready = done
    return done
end

-- The lines of a header become one, but for Set-Cookie, whose values may have commas in them.
local function add_value(name, old, value)
    if old == nil or old == "" then
        return value
    elseif name:lower() == "set-cookie" then
        local lines = {}
        for i, line in ipairs(type(old) == "table" and old or { old }) do
            lines[i] = line
        end
        lines[#lines + 1] = value
        return lines
    end
    return (type(old) == "table" and table.concat(old, ",") or old) .. "," .. value
end

---Changes headers as a filter says.
---@param filter { set: string[][]?, add: string[][]?, remove: string[]? } it gets a field `ready`
---@param read fun(name: string): string|string[]|nil
---@param write fun(name: string, value: string|string[]|nil) nil: remove it
function headers.change(filter, read, write)
    local wanted = filter.ready or prepare(filter)
    local set, add, remove = wanted.set, wanted.add, wanted.remove
    for i = 1, #set do
        write(set[i][1], set[i][2])
    end
    for i = 1, #add do
        local name = add[i][1]
        write(name, add_value(name, read(name), add[i][2]))
    end
    for i = 1, #remove do
        write(remove[i], nil)
    end
end

return headers
