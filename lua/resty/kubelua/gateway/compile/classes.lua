-- GatewayClasses of this controller and their status. Pure.
local conditions = require "resty.kubelua.gateway.compile.conditions"

local classes = {}

local MAJOR, MINOR = 1, 6 -- the newest version of the CRDs that compile knows

---@param object table
---@param options table
---@return boolean
function classes.is_ours(object, options)
    return (object.spec or {}).controllerName == options.controller
end

---@param object table
---@return boolean
function classes.is_accepted(object)
    return (object.spec or {}).parametersRef == nil
end

local function is_supported(bundle)
    local major, minor = tostring(bundle or ""):match("^v(%d+)%.(%d+)")
    return tonumber(major) == MAJOR and tonumber(minor) <= MINOR
end

local function version_condition(bundle)
    if is_supported(bundle) then
        return conditions.new("SupportedVersion", true, "SupportedVersion")
    end
    return conditions.new("SupportedVersion", false, "UnsupportedVersion",
        ("the CRDs have the version %s; known are v%d.0 to v%d.%d"):format(
            bundle or "(none is annotated)", MAJOR, MAJOR, MINOR))
end

---@param object table
---@param options table
---@return table status to write
function classes.status(object, options)
    local accepted = classes.is_accepted(object)
    local present, status = object.status or {}, {}
    for key, value in pairs(present) do
        status[key] = value
    end
    status.conditions = conditions.merge(present.conditions, {
        conditions.new("Accepted", accepted, accepted and "Accepted" or "InvalidParameters",
            not accepted and "a GatewayClass of this controller has no parameters" or nil),
        version_condition(options.bundle),
    }, object.metadata.generation, options.now())
    if options.features then
        local names = {}
        for i, name in ipairs(options.features) do
            names[i] = name
        end
        table.sort(names)
        for i, name in ipairs(names) do
            names[i] = { name = name }
        end
        status.supportedFeatures = options.array(names)
    end
    return status
end

return classes
