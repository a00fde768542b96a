-- How much a script keeps for a request, as far as its functions reach it: for body_filter, which
-- is called as often as the body has parts, and could put all of them aside.
local retained = {}

local TABLE, FIELD, FUNCTION = 40, 40, 40 -- bytes, about
local WORKER = getfenv and getfenv(0) or _G

local function visit(found, value)
    local kind = type(value)
    if found.seen[value] then
        return
    elseif kind == "string" then
        found.bytes = found.bytes + #value
    elseif kind == "table" or kind == "function" then
        found.list[#found.list + 1] = value
    else
        return
    end
    found.seen[value] = true
end

local function visit_table(found, value)
    found.bytes = found.bytes + TABLE
    for key, item in next, value do
        found.bytes = found.bytes + FIELD
        if found.bytes > found.most then
            return
        end
        visit(found, key)
        visit(found, item)
    end
end

-- What is not the script's own is shared by all.
local function visit_function(found, f)
    if getfenv(f) == WORKER then
        return
    end
    found.bytes = found.bytes + FUNCTION
    visit(found, getfenv(f))
    for i = 1, 60 do
        local name, value = debug.getupvalue(f, i)
        if not name then
            break
        elseif value ~= nil then
            visit(found, value)
        end
    end
end

---The bytes that a value and what it leads to have, about; it stops above `most`.
---@param value any
---@param most integer
---@return integer
function retained.size(value, most)
    local found = { bytes = 0, most = most, seen = {}, list = {} }
    visit(found, value)
    while found.list[1] and found.bytes <= most do
        local one = table.remove(found.list)
        if type(one) == "table" then
            visit_table(found, one)
            local meta = debug.getmetatable(one)
            if meta then
                visit(found, rawget(meta, "__metatable") ~= false and meta or nil)
            end
        else
            visit_function(found, one)
        end
    end
    return found.bytes
end

return retained
