-- Label selectors of allowedRoutes.namespaces. Pure.
local selectors = {}

local function contains(list, value)
    for _, item in ipairs(list or {}) do
        if item == value then
            return true
        end
    end
    return false
end

local OPERATORS = {
    In = function(value, values)
        return value ~= nil and contains(values, value)
    end,
    NotIn = function(value, values)
        return value == nil or not contains(values, value)
    end,
    Exists = function(value)
        return value ~= nil
    end,
    DoesNotExist = function(value)
        return value == nil
    end,
}

---@param selector table? nil selects nothing, an empty one everything
---@param labels table<string, string>?
---@return boolean
function selectors.matches(selector, labels)
    if type(selector) ~= "table" then
        return false
    end
    labels = labels or {}
    for name, value in pairs(selector.matchLabels or {}) do
        if labels[name] ~= value then
            return false
        end
    end
    for _, expression in ipairs(selector.matchExpressions or {}) do
        local operator = OPERATORS[expression.operator]
        if not operator or not operator(labels[expression.key], expression.values) then
            return false
        end
    end
    return true
end

return selectors
