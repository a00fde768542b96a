-- A custom resource for the themes about them: webs, in a group of the theme's own.
local webs = {}

webs.definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
webs.group = "{ns}.example.com"
webs.path = "/apis/{ns}.example.com/v1/namespaces/{ns}/webs"
webs.definition = webs.definitions .. "/webs." .. webs.group
local ANY = { type = "object", ["x-kubernetes-preserve-unknown-fields"] = true }

local function version(name, schema, more)
    local made = {
        name = name, served = true, storage = true, schema = { openAPIV3Schema = schema or ANY },
    }
    for key, value in pairs(more or {}) do
        made[key] = value
    end
    return made
end

---A definition of a kind of this group.
function webs.define(plural, kind, spec)
    local made = {
        group = webs.group, scope = "Namespaced", names = {
            plural = plural, kind = kind,
        }, versions = { version("v1") },
    }
    for key, value in pairs(spec or {}) do
        made[key] = value
    end
    return {
        apiVersion = "apiextensions.k8s.io/v1", kind = "CustomResourceDefinition",
        metadata = { name = plural .. "." .. webs.group }, spec = made,
    }
end

local SCHEMA = {
    type = "object",
    required = { "spec" },
    properties = {
        spec = {
            type = "object",
            required = { "image" },
            properties = {
                image = { type = "string", minLength = 1, description = "What it runs." },
                replicas = { type = "integer", minimum = 0, maximum = 10, default = 1 },
                size = { type = "string", enum = { "small", "large" } },
            },
        },
        status = {
            type = "object",
            properties = {
                replicas = { type = "integer" }, selector = { type = "string" },
                phase = { type = "string" },
            },
        },
    },
}
local SUBRESOURCES = {
    status = {},
    scale = {
        specReplicasPath = ".spec.replicas", statusReplicasPath = ".status.replicas",
        labelSelectorPath = ".status.selector",
    },
}
local COLUMNS = {
    { name = "Image", type = "string", jsonPath = ".spec.image" },
    { name = "Replicas", type = "integer", jsonPath = ".spec.replicas", description = "How many." },
    { name = "Phase", type = "string", jsonPath = ".status.phase", priority = 1 },
    { name = "Age", type = "date", jsonPath = ".metadata.creationTimestamp" },
}
local V1 = version("v1", SCHEMA, {
    subresources = SUBRESOURCES, additionalPrinterColumns = COLUMNS,
})
local V2 = version("v2", SCHEMA, {
    subresources = SUBRESOURCES, storage = false, deprecated = true,
    deprecationWarning = "v2 is a mistake",
})
local WEBS = {
    plural = "webs", singular = "web", kind = "Web", listKind = "WebList", shortNames = { "wb" },
    categories = { "all" },
}
---What webs are defined by.
webs.spec = { names = WEBS, versions = { V1, V2 } }

---A web.
function webs.object(name, spec, more)
    local object = {
        apiVersion = "{ns}.example.com/v1", kind = "Web", metadata = { name = name }, spec = spec,
    }
    for key, value in pairs(more or {}) do
        object[key] = value
    end
    return object
end

return webs
