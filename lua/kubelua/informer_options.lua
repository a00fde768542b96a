-- What client:informer takes: checked, as the core takes it, and the indexes apart.
local NAMES = {
    namespace = true, labels = true, fields = true, resync = true, idle_timeout = true,
    page_size = true, managed_fields = true, streaming_list = true,
}

---Raises in the name of whoever called what calls it.
---@param options table|string
---@return table request, table? indexes
return function(options)
    if type(options) == "string" then
        options = { options }
    end
    if type(options) ~= "table" or type(options[1]) ~= "string" then
        error("informer: which resource? For example client:informer { \"pods\" }", 4)
    end
    local request = { resource = options[1] }
    for key, value in pairs(options) do
        if NAMES[key] then
            request[key] = value
        elseif type(key) == "number" and key ~= 1 then
            error("informer: one resource each, not '" .. tostring(value) .. "' as well", 4)
        elseif key ~= 1 and key ~= "indexes" then
            error("informer: there is no option '" .. tostring(key) .. "'; there are namespace, "
                .. "labels, fields, indexes, resync, managed_fields, streaming_list, page_size "
                .. "and idle_timeout", 4)
        end
    end
    return request, options.indexes
end
