---Calls `run` once the returned guard has been collected.
---@param run fun()
---@return any guard
return function(run)
    local newproxy = rawget(_G, "newproxy") -- before 5.2 tables have no __gc
    if newproxy then
        local guard = newproxy(true)
        getmetatable(guard).__gc = run
        return guard
    end
    return setmetatable({}, { __gc = run })
end
