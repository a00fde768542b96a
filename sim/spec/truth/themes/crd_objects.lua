-- Custom resources: written in every way, validated, defaulted, pruned, scaled.
local webs = require "webs"

local DEFINITIONS, WEB = webs.definitions, webs.path
local definition, web, WEB_SPEC = webs.define, webs.object, webs.spec

return {
    { "what is not defined yet", "GET " .. WEB },
    { "a definition", "POST " .. DEFINITIONS, definition("webs", "Web", WEB_SPEC) },
    { "it is served", "GET " .. WEB, wait = 200 },
    {
        "an object", "POST " .. WEB, web("one", { image = "app:1" }),
        save = { rv = "metadata.resourceVersion" },
    },
    { "got", "GET " .. WEB .. "/one" },
    { "the same object again", "POST " .. WEB, web("one", { image = "app:1" }) },
    { "without its spec", "POST " .. WEB, web("two", nil) },
    { "without its image", "POST " .. WEB, web("two", {}) },
    { "an empty image", "POST " .. WEB, web("two", { image = "" }) },
    { "of a wrong type", "POST " .. WEB, web("two", { image = 1 }) },
    { "a number where an object belongs", "POST " .. WEB, web("two", 1) },
    { "too many replicas", "POST " .. WEB, web("two", { image = "a", replicas = 11 }) },
    { "a fraction of replicas", "POST " .. WEB, web("two", { image = "a", replicas = 1.5 }) },
    { "a size that is none", "POST " .. WEB, web("two", { image = "a", size = "medium" }) },
    {
        "much that is wrong", "POST " .. WEB,
        web("two", { image = "", replicas = -1, size = "x" }), only = "status",
    },
    { "an unknown field", "POST " .. WEB, web("pruned", { image = "a", nothing = 1 }) },
    { "is pruned", "GET " .. WEB .. "/pruned" },
    {
        "an unknown field, strictly", "POST " .. WEB .. "?fieldValidation=Strict",
        web("strict", { image = "a", nothing = 1 }, { more = 1 }),
    },
    {
        "an unknown field, with a warning", "POST " .. WEB .. "?fieldValidation=Warn",
        web("warned", { image = "a", nothing = 1 }),
    },
    {
        "an unknown field, ignored", "POST " .. WEB .. "?fieldValidation=Ignore",
        web("ignored", { image = "a", nothing = 1 }),
    },
    {
        "an unknown field of the metadata, strictly", "POST " .. WEB .. "?fieldValidation=Strict",
        [[{"apiVersion":"{ns}.example.com/v1","kind":"Web","metadata":{"name":"m",]]
            .. [["nothing":1},"spec":{"image":"a"}}]],
    },
    {
        "metadata of a wrong type", "POST " .. WEB,
        [[{"apiVersion":"{ns}.example.com/v1","kind":"Web","metadata":{"name":"m",]]
            .. [["labels":{"a":1}},"spec":{"image":"a"}}]],
    },
    { "a name that is none", "POST " .. WEB, web("A_b", { image = "a" }) },
    {
        "another kind", "POST " .. WEB,
        { apiVersion = "{ns}.example.com/v1", kind = "Cobweb", metadata = { name = "x" } },
    },
    {
        "another group", "POST " .. WEB,
        { apiVersion = "other/v1", kind = "Web", metadata = { name = "x" } },
    },
    {
        "the other version here", "POST " .. WEB,
        {
            apiVersion = "{ns}.example.com/v2", kind = "Web", metadata = { name = "x" },
            spec = { image = "a" },
        },
    },
    {
        "in the other version", "POST /apis/{ns}.example.com/v2/namespaces/{ns}/webs",
        {
            apiVersion = "{ns}.example.com/v2", kind = "Web", metadata = { name = "old" },
            spec = { image = "a" },
        },
    },
    {
        "a status when it is made", "POST " .. WEB,
        web("status", { image = "a" }, { status = { phase = "Ready" } }),
    },
    {
        "a status", "PATCH " .. WEB .. "/one/status",
        {
            status = { phase = "Ready", replicas = 1, selector = "app=one" },
            spec = { image = "not:taken" },
        },
    },
    { "a status of a wrong type", "PATCH " .. WEB .. "/one/status", { status = { phase = 1 } } },
    {
        "a spec raises the generation", "PATCH " .. WEB .. "/one",
        { spec = { image = "app:2" }, status = { phase = "not taken" } },
    },
    { "labels do not", "PATCH " .. WEB .. "/one", { metadata = { labels = { a = "b" } } } },
    { "a scale", "GET " .. WEB .. "/one/scale" },
    { "scaled", "PATCH " .. WEB .. "/one/scale", { spec = { replicas = 4 } } },
    { "scaled too far", "PATCH " .. WEB .. "/one/scale", { spec = { replicas = 40 } } },
    {
        "scaled by PUT", "PUT " .. WEB .. "/one/scale",
        {
            apiVersion = "autoscaling/v1", kind = "Scale",
            metadata = { name = "one", namespace = "{ns}" }, spec = { replicas = 2 },
        },
    },
    { "an update without a version", "PUT " .. WEB .. "/one", web("one", { image = "app:3" }) },
    {
        "an update at an old version", "PUT " .. WEB .. "/one",
        web("one", { image = "app:3" }, { metadata = { name = "one", resourceVersion = "{rv}" } }),
    },
    {
        "an update of nothing that is there", "PUT " .. WEB .. "/none",
        web("none", { image = "app:3" }),
    },
    {
        "a strategic patch", "PATCH " .. WEB .. "/one", { spec = { image = "b" } },
        type = "application/strategic-merge-patch+json",
    },
    {
        "a JSON patch", "PATCH " .. WEB .. "/one",
        '[{"op":"add","path":"/spec/size","value":"small"}]', type = "application/json-patch+json",
    },
    {
        "applied", "PATCH " .. WEB .. "/one?fieldManager=a&force=true",
        web("one", { image = "applied", replicas = 3 }), type = "application/apply-patch+yaml",
    },
    {
        "applied by another", "PATCH " .. WEB .. "/one?fieldManager=b",
        web("one", { image = "other" }), type = "application/apply-patch+yaml",
    },
    {
        "applied for the first time", "PATCH " .. WEB .. "/new?fieldManager=a",
        web("new", { image = "applied" }), type = "application/apply-patch+yaml",
    },
    { "fields of a selector", "GET " .. WEB .. "?fieldSelector=metadata.name=one" },
    { "fields that it does not know", "GET " .. WEB .. "?fieldSelector=spec.image=a" },
    {
        "watched",
        "WATCH " .. WEB .. "?watch=true&timeoutSeconds=1&resourceVersion={rv}&fieldSelector="
            .. "metadata.name=one",
        events = 3,
    },
    {
        "initial events",
        "WATCH " .. WEB .. "?watch=true&timeoutSeconds=1&sendInitialEvents=true&resourceVers"
            .. "ionMatch=NotOlderThan&allowWatchBookmarks=true&fieldSelector=metadata.name=one",
        events = 2,
    },
    { "a dry run", "POST " .. WEB .. "?dryRun=All", web("dry", { image = "a" }) },
    { "deleted", "DELETE " .. WEB .. "/pruned" },
    { "a collection deleted", "DELETE " .. WEB .. "?fieldSelector=metadata.name=warned" },
    { "a subresource that it has not", "GET " .. WEB .. "/one/nothing" },
    { "without a namespace", "GET /apis/{ns}.example.com/v1/webs?limit=1" },
}
