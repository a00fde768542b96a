-- What a webhook is asked about: resources in any of their names, and operations.
local core = require "kubelua.core"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"
local review = require "kubelua.admission.review"

---@class kubelua.admission.Rule
---@field resources kubelua.admission.Resource[]
---@field operations table<string, true>
local Rule = {}
Rule.__index = Rule

---@class kubelua.admission.Resource
---@field name string as the script wrote it, without the subresource
---@field sub string? "status", "*": all, and the object itself; nil: only that
---@field group string? nil: not known, the name is compared
---@field plural string? nil: not known
---@field version string? nil: any

local rules = {}

-- A name ends in "/SUBRESOURCE", if what is before it is no apiVersion: "pods/exec",
-- "apps/v1/Deployment", "apps/v1/deployments/scale".
local function split_sub(name)
    local before, sub = name:match("^(.+)/([^/]+)$")
    if before and not before:find("^v%d%w*$") and not before:find("^[^/]+/v%d%w*$") then
        return before, sub
    end
    return name, nil
end

local function read_resource(text)
    if type(text) ~= "string" or text == "" or text:find("%z") then
        misuse("admit: a resource is a name such as \"pods\", \"deployments.apps\" or \"pods/exec\""
            .. ", not %s", type(text) == "string" and "\"" .. text .. "\"" or "a " .. type(text))
    end
    local name, sub = split_sub(text)
    local kind = core.builtin_kind(name)
    local resource = { name = name, sub = sub }
    if kind then
        resource.group, resource.plural = kind.group, kind.plural
        resource.version = name:find("/", 1, true) and kind.version or nil
    end
    return resource
end

local function read_operations(given)
    local operations = {}
    for _, name in ipairs(given or { "CREATE", "UPDATE" }) do
        options.choice("admit", "operations", name, review.OPERATIONS)
        operations[name] = true
    end
    if next(operations) == nil then
        misuse("admit: 'operations' is a list of CREATE, UPDATE, DELETE, CONNECT")
    end
    return operations
end

---@param names string[]
---@param operations string[]?
---@return kubelua.admission.Rule
function rules.new(names, operations)
    local resources = {}
    for _, name in ipairs(names) do
        resources[#resources + 1] = read_resource(name)
    end
    if #resources == 0 then
        misuse("admit: which resource? For example kubelua.admit { \"ingresses\", validate = f }")
    end
    return setmetatable({ resources = resources, operations = read_operations(operations) }, Rule)
end

-- True if a name that is not built in means the kind of the request.
local function is_named(name, request)
    local group, version = request.resource.group or "", request.resource.version or ""
    local prefix = group == "" and version or group .. "/" .. version
    name = name:lower()
    for _, word in ipairs { request.resource.resource:lower(), request.kind.kind:lower() } do
        if name == word or name == word .. "." .. group or name == prefix .. "/" .. word
            or name == word .. "." .. version .. "." .. group then
            return true
        end
    end
    return false
end

local function matches_resource(resource, request)
    local sub = request.subResource ~= "" and request.subResource or nil
    if resource.sub ~= sub and resource.sub ~= "*" then
        return false
    elseif resource.name == "*" then
        return true
    elseif not resource.plural then
        return is_named(resource.name, request)
    end
    return resource.plural == request.resource.resource
        and resource.group == (request.resource.group or "")
        and (not resource.version or resource.version == request.resource.version)
end

---True if the rule has the resource and the operation of a request.
---@param request kubelua.AdmissionRequest
---@return boolean
function Rule:matches(request)
    if not self.operations[request.operation] then
        return false
    end
    for _, resource in ipairs(self.resources) do
        if matches_resource(resource, request) then
            return true
        end
    end
    return false
end

return rules
