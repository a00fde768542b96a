-- kubelua.changed: makes a function for `when`, which selects the updates that matter.
local core = require "kubelua.core"
local misuse = require "kubelua.misuse"
local options = require "kubelua.options"

-- Short names for common fields.
local SHORT = {
    generation = "metadata.generation", labels = "metadata.labels",
    annotations = "metadata.annotations", finalizers = "metadata.finalizers",
    owners = "metadata.ownerReferences", spec = "spec", status = "status", data = "data",
}

-- A path is tried on this object, to check it. Nothing keeps the object.
local PROBE = '{"kind":"Probe","apiVersion":"v1","metadata":{"name":"a"}}'

local function check_path(name)
    if type(name) ~= "string" then
        misuse("kubelua.changed: the names of fields expected, such as \"generation\", not a %s",
            type(name))
    elseif SHORT[name] then
        return SHORT[name]
    elseif name:find("^[%a]+$") then
        local words = options.names(SHORT)
        local nearest = options.nearest(name, words)
        misuse("kubelua.changed: there is no '%s'; %suse %s, or a path such as \"spec.replicas\"",
            name, nearest and "do you mean '" .. nearest .. "'? or " or "",
            table.concat(words, ", "))
    end
    local ok, problem = pcall(core.get, assert(core.object(PROBE)), name)
    if not ok then
        misuse("kubelua.changed: %s", (tostring(problem):gsub("^[^\n]-:%d+: ", "")))
    end
    return name
end

-- Parts of objects are equal if their JSON is; the order of fields does not matter.
local function is_equal(a, b)
    if type(a) ~= "userdata" or type(b) ~= "userdata" then
        return a == b
    end
    return core.hash(a) == core.hash(b)
end

---For `when`: true if an update changes one of these: generation, labels, annotations, finalizers,
---owners, spec, status, data, or the value at a path such as "spec.replicas". If objects of a kind
---have no generation, "generation" is true for every update.
---@param ... string
---@return fun(old: kubelua.Object, new: kubelua.Object): boolean
return function(...)
    local paths, counts_generation = {}, false
    for i = 1, select("#", ...) do
        paths[i] = check_path((select(i, ...)))
        counts_generation = counts_generation or paths[i] == SHORT.generation
    end
    if #paths == 0 then
        misuse("kubelua.changed: which fields? For example kubelua.changed(\"generation\")")
    end
    return function(old, new)
        if counts_generation and new:get(SHORT.generation) == nil then
            return true
        end
        for _, path in ipairs(paths) do
            if not is_equal(old:get(path), new:get(path)) then
                return true
            end
        end
        return false
    end
end
