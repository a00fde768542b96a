-- What the runs of a controller have written, and whether its caches hold it.
local Written = {}
Written.__index = Written

local written = {}

---@return table
function written.new()
    return setmetatable({}, Written)
end

---Waits until the caches hold what runs of the key have written.
---@return true?, string?, string?
function Written.settle()
    return true
end

---True if an object's version is one that a run of the key has written.
---@return boolean
function Written.is_own()
    return false
end

---Has the writes within a scope remembered, as those of a run of the key.
function Written.watch()
end

return written
