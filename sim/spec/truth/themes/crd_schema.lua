-- What a definition must be, and what its schema does to objects: validation, defaults, pruning.
local DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
local GROUP = "{run}.schema.example.com"
local requests = {}

local function ask(sentence, request, body, more)
    local asked = more or {}
    asked[1], asked[2], asked[3] = sentence, request, body
    requests[#requests + 1] = asked
end

local function definition(plural, spec, name)
    local made = {
        group = GROUP, scope = "Namespaced", names = {
            plural = plural, kind = plural:sub(1, 1):upper() .. plural:sub(2, -2),
        },
        versions = {
            {
                name = "v1", served = true, storage = true,
                schema = { openAPIV3Schema = { type = "object" } },
            },
        },
    }
    for key, value in pairs(spec or {}) do
        made[key] = value
    end
    return {
        apiVersion = "apiextensions.k8s.io/v1", kind = "CustomResourceDefinition",
        metadata = { name = name or plural .. "." .. GROUP }, spec = made,
    }
end

local function refused(sentence, spec, name)
    ask(
        "refused: " .. sentence, "POST " .. DEFINITIONS .. "?dryRun=All",
        definition("bads", spec, name)
    )
end

local function schema(properties)
    return {
        versions = {
            {
                name = "v1", served = true, storage = true,
                schema = { openAPIV3Schema = { type = "object", properties = properties } },
            },
        },
    }
end

refused("a name that does not fit", {}, "other." .. GROUP)
refused("no versions", { versions = require("kubelua.core").array {} })
refused("no stored version", {
    versions = {
        {
            name = "v1", served = true, storage = false,
            schema = { openAPIV3Schema = { type = "object" } },
        },
    },
})
refused("a version that is none", {
    versions = {
        {
            name = "V_1", served = true, storage = true,
            schema = { openAPIV3Schema = { type = "object" } },
        },
    },
})
refused("no schema", { versions = { { name = "v1", served = true, storage = true } } })
refused("a schema without type", {
    versions = {
        { name = "v1", served = true, storage = true, schema = { openAPIV3Schema = {} } },
    },
})
refused("a scope that is none", { scope = "Everywhere" })
refused("no kind", { names = { plural = "bads" } })
refused("a kind that is none", { names = { plural = "bads", kind = "no kind" } })
refused("a property without type", schema { a = {} })
refused("a type that is none", schema { a = { type = "thing" } })
refused("an array without items", schema { a = { type = "array" } })
refused("a default of a wrong type", schema { a = { type = "string", default = 1 } })
refused("a pattern that is none", schema { a = { type = "string", pattern = "(" } })
refused(
    "properties and additional ones",
    schema {
        a = {
            type = "object", properties = { b = { type = "string" } },
            additionalProperties = { type = "string" },
        },
    }
)
refused(
    "keys of a list that are not there",
    schema {
        a = {
            type = "array", items = { type = "object", properties = {} },
            ["x-kubernetes-list-type"] = "map", ["x-kubernetes-list-map-keys"] = { "name" },
        },
    }
)
refused(
    "unique items",
    schema { a = { type = "array", uniqueItems = true, items = { type = "string" } } }
)
refused("a reference", schema { a = { ["$ref"] = "#/x" } })
refused("preserved by the old field", { preserveUnknownFields = true })
refused("a column without path", {
    versions = {
        {
            name = "v1", served = true, storage = true,
            schema = { openAPIV3Schema = { type = "object" } },
            additionalPrinterColumns = { { name = "a", type = "string" } },
        },
    },
})
refused("a scale without paths", {
    versions = {
        {
            name = "v1", served = true, storage = true,
            schema = { openAPIV3Schema = { type = "object" } }, subresources = { scale = {} },
        },
    },
})

local ALL = {
    text = { type = "string", minLength = 2, maxLength = 4, pattern = "^[a-z]+$" },
    date = { type = "string", format = "date-time" },
    uid = { type = "string", format = "uuid" },
    address = { type = "string", format = "ipv4" },
    number = {
        type = "number", minimum = 1, exclusiveMinimum = true, maximum = 5, multipleOf = 0.5,
    },
    small = { type = "integer", format = "int32" },
    yes = { type = "boolean", default = true },
    maybe = { type = "string", nullable = true },
    list = { type = "array", minItems = 1, maxItems = 2, items = { type = "string" } },
    set = { type = "array", items = { type = "string" }, ["x-kubernetes-list-type"] = "set" },
    map = {
        type = "array", ["x-kubernetes-list-type"] = "map",
        ["x-kubernetes-list-map-keys"] = { "name" },
        items = {
            type = "object", required = { "name" },
            properties = { name = { type = "string" }, value = { type = "string" } },
        },
    },
    names = {
        type = "object", minProperties = 1, maxProperties = 2,
        additionalProperties = { type = "integer" },
    },
    either = { ["x-kubernetes-int-or-string"] = true },
    any = { type = "object", ["x-kubernetes-preserve-unknown-fields"] = true },
    embedded = {
        type = "object", ["x-kubernetes-embedded-resource"] = true,
        ["x-kubernetes-preserve-unknown-fields"] = true,
    },
    deep = {
        type = "object", default = {},
        properties = {
            a = {
                type = "object", default = { b = "c" }, properties = { b = { type = "string" } },
            },
        },
    },
    one = {
        type = "object", properties = { a = { type = "string" }, b = { type = "string" } },
        oneOf = { { required = { "a" } }, { required = { "b" } } },
    },
    rule = {
        type = "integer",
        ["x-kubernetes-validations"] = { { rule = "self < 5", message = "must be small" } },
    },
}

ask("made: all keywords", "POST " .. DEFINITIONS, definition("alls", schema(ALL)), {
    only = "status",
})
local PATH = "/apis/" .. GROUP .. "/v1/namespaces/{ns}/alls"
ask("served", "GET " .. PATH, nil, { wait = 200 })

local function object(sentence, fields, more)
    fields.apiVersion, fields.kind, fields.metadata = GROUP .. "/v1", "All", { name = "x" }
    ask(sentence, "POST " .. PATH .. "?dryRun=All", fields, more)
end

object("defaults", {})
object("a text that is too short", { text = "a" })
object("a text that is too long", { text = "abcde" })
object("a text without its pattern", { text = "A1" })
object("a date", { date = "2026-01-02T03:04:05Z" })
object("a date that is none", { date = "yesterday" })
object("a uid that is none", { uid = "x" })
object("an address that is none", { address = "x" })
object("the excluded minimum", { number = 1 })
object("above the maximum", { number = 6 })
object("not a multiple", { number = 1.7 })
object("too large for its format", { small = 3000000000 })
object("a bool that is none", { yes = "yes" })
object("a null that may be", { maybe = require("kubelua.core").null })
object("a null that may not be", { text = require("kubelua.core").null })
object("a null of a default", { yes = require("kubelua.core").null })
object("an empty list", { list = require("kubelua.core").array {} })
object("a list that is too long", { list = { "a", "b", "c" } })
object("an item of a wrong type", { list = { "a", 1 } })
object("a set with an item twice", { set = { "a", "a" } })
object("a map with a key twice", { map = { { name = "a" }, { name = "a" } } })
object("a map without its key", { map = { { value = "a" } } })
object("no properties", { names = {} })
object("too many properties", { names = { a = 1, b = 2, c = 3 } })
object("a property of a wrong type", { names = { a = "x" } })
object("an integer or a text: integer", { either = 5 })
object("an integer or a text: text", { either = "5" })
object("an integer or a text: neither", { either = true })
object("anything", { any = { a = { b = { c = 1 } } } })
object("an embedded object", {
    embedded = {
        apiVersion = "v1", kind = "ConfigMap", metadata = { name = "a", nothing = 1 },
        data = { a = 1 },
    },
})
object("an embedded object without its kind", { embedded = { a = 1 } })
object("a default inside of what is there", { deep = {} })
object("one of two", { one = { a = "x" } })
object("both of two", { one = { a = "x", b = "y" } })
object("none of two", { one = {} })
object("a rule", { rule = 3 })
object("a rule that is broken", { rule = 7 })
object("unknown fields are pruned", { nothing = 1, deep = { x = 1, a = { y = 1 } } })
object("many errors", {
    text = "A", number = 9, yes = 1, list = require("kubelua.core").array {}, either = true,
}, { only = "status" })

ask("of the cluster", "POST " .. DEFINITIONS, definition("wides", { scope = "Cluster" }))
ask("of the cluster: served", "GET /apis/" .. GROUP .. "/v1/wides", nil, { wait = 200 })
ask("of the cluster: an object", "POST /apis/" .. GROUP .. "/v1/wides", {
    apiVersion = GROUP .. "/v1", kind = "Wide", metadata = { name = "w" },
})
ask("of the cluster: in a namespace", "GET /apis/" .. GROUP .. "/v1/namespaces/{ns}/wides")
ask("of the cluster: no status", "GET /apis/" .. GROUP .. "/v1/wides/w/status")
ask("of the cluster: generation", "PATCH /apis/" .. GROUP .. "/v1/wides/w", { status = { a = 1 } })
ask(
    "a name that another has", "POST " .. DEFINITIONS,
    definition("others", { names = { plural = "others", kind = "Wide" } }), { only = "status" }
)
ask("is not accepted", "GET " .. DEFINITIONS .. "/others." .. GROUP)

return requests
