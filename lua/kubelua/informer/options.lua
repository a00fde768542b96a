-- Checks the options of client:informer, and turns them into a request for the core. Indexes are
-- returned apart: Lua adds them.
local core = require "kubelua.core"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"

---What client:informer takes. The resource comes first, as in { "pods", namespace = "web" }.
---@class kubelua.InformerOptions: kubelua.InformerScope
---@field [1] string any name that kubectl accepts: "pods", "po", "deployments.apps",
---"apps/v1/Deployment"

---The options that informers and controllers have in common.
---@class kubelua.InformerScope
---@field namespace? string|string[] one, several, "*": all; nil: that of kubelua run -n, else all
---@field labels? string a label selector, as of kubectl's -l
---@field fields? string a field selector, as of kubectl's --field-selector
---@field indexes? table<string, string|fun(object: kubelua.Object): any> a path or a function each
---@field resync? number seconds between replays of the cache to its handlers; 0: never
---@field managed_fields? boolean keep metadata.managedFields; default: false
---@field metadata? boolean ask for metadata alone: its objects have no spec and no status
---@field drop? string|string[] paths of what is not cached, such as "spec.containers[*].env"
---@field keep? string|string[] paths of what is cached, besides apiVersion, kind and metadata
---@field streaming_list? boolean let the server stream the first list; default: true
---@field compress? boolean keep objects compressed while nothing reads them; default: true
---@field page_size? integer objects in a page of a list that is not streamed; default: 500
---@field idle_timeout? number seconds without a message, then the watch is reopened; below 0: never

local TYPES = {
    namespace = "string|table", labels = "string", fields = "string", indexes = "table",
    resync = "number", managed_fields = "boolean", metadata = "boolean",
    drop = "string|table", keep = "string|table",
    streaming_list = "boolean", compress = "boolean", page_size = "number",
    idle_timeout = "number",
}

-- Sorts several namespaces as the keys of their objects are sorted, each once. A single one is
-- returned as a string.
local function sort_namespaces(given)
    local names, seen = {}, {}
    for place, name in pairs(given) do
        if type(place) ~= "number" or type(name) ~= "string" then
            misuse("informer: 'namespace' must be a name or a list of names, such as "
                .. "{ \"web\", \"db\" }")
        elseif name == "*" then
            misuse("informer: \"*\" means all namespaces, and cannot be in a list: write "
                .. "namespace = \"*\"")
        end
        core.check_namespace("informer", name)
        if not seen[name] then
            seen[name], names[#names + 1] = true, name
        end
    end
    if #names == 0 then
        misuse("informer: the list of namespaces is empty; for all of them, write "
            .. "namespace = \"*\"")
    end
    table.sort(names, function(a, b) return a .. "/" < b .. "/" end)
    return #names == 1 and names[1] or names
end

-- The paths of `drop` or `keep`, as a list.
local function list_paths(name, given)
    if type(given) ~= "table" then
        return given and { given }
    end
    for place, path in pairs(given) do
        if type(place) ~= "number" or type(path) ~= "string" then
            misuse("informer: '%s' must be a path or a list of paths, such as "
                .. "{ \"status.conditions\", \"spec.containers[*].env\" }", name)
        end
    end
    return given
end

local informer_options = {}

---@param given kubelua.InformerOptions|string
---@return table request, table? indexes
function informer_options.read(given)
    if type(given) == "string" then
        given = { given }
    end
    if type(given) ~= "table" or type(given[1]) ~= "string" then
        misuse("informer: which resource? For example client:informer { \"pods\" }")
    end
    local request, named = { resource = given[1] }, {}
    for key, value in pairs(given) do
        if type(key) == "number" and key ~= 1 then
            misuse("informer: only one resource is possible, and '%s' is another one; open an "
                .. "informer for each", tostring(value))
        elseif key ~= 1 then
            named[key] = value
            if key ~= "indexes" then
                request[key] = value
            end
        end
    end
    options.check("informer", named, TYPES)
    request.drop, request.keep = list_paths("drop", given.drop), list_paths("keep", given.keep)
    if type(request.namespace) == "table" then
        request.namespace = sort_namespaces(request.namespace)
    elseif request.namespace ~= "*" then
        core.check_namespace("informer", request.namespace)
    end
    return request, given.indexes
end

---Sets the default namespace, or namespaces, of a request that names none. A kind without
---namespaces is watched as a whole.
---@param request table
---@param scope string|string[]|nil
function informer_options.add_scope(request, scope)
    if type(scope) == "table" then
        local kind = not request.resource:find("%z") and core.builtin_kind(request.resource)
        if kind and not kind.namespaced then
            return
        end
        scope = sort_namespaces(scope)
    end
    request.namespace, request.namespace_if_any = scope, type(scope) == "string" or nil
end

return informer_options
