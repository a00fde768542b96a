-- CustomResourceDefinitions for specs, whose objects may hold anything.

---@param name string "foos.example.com": of Foos, in the group example.com
---@param options { scope: string?, version: string?, versions: table[]? }? default: namespaced;
---versions: the versions without their schema, instead of one "v1"
---@return table
return function(name, options)
    options = options or {}
    local plural, group = name:match("^([^.]+)%.(.+)$")
    local singular = plural:gsub("s$", "")
    local versions = options.versions
        or { { name = options.version or "v1", served = true, storage = true } }
    for _, version in ipairs(versions) do
        version.schema = { openAPIV3Schema = { type = "object",
            ["x-kubernetes-preserve-unknown-fields"] = true } }
    end
    return { apiVersion = "apiextensions.k8s.io/v1", kind = "CustomResourceDefinition",
        metadata = { name = name },
        spec = { group = group, scope = options.scope or "Namespaced", versions = versions,
            names = { plural = plural, singular = singular,
                kind = singular:sub(1, 1):upper() .. singular:sub(2) } } }
end
