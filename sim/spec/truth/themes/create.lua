-- POST: names, generated names, dry runs, and what a server refuses.
local core = require "kubelua.core"
local objects = require "objects"

local configmap, pod = objects.configmap, objects.pod
local MAPS = "/api/v1/namespaces/{ns}/configmaps"

return {
    {
        "a config map", "POST " .. MAPS, configmap("one", { data = { a = "1", b = "" } }),
        save = { rv = "metadata.resourceVersion" },
    },
    { "the same again", "POST " .. MAPS, configmap("one") },
    { "it is as it was made", "GET " .. MAPS .. "/one" },
    { "binary data", "POST " .. MAPS, configmap("binary", { binaryData = { a = "AAEC" } }) },
    {
        "binary data that is no base64", "POST " .. MAPS,
        configmap("binary2", { binaryData = { a = "?" } }),
    },
    {
        "a key both in data and in binary data", "POST " .. MAPS,
        configmap("both", { data = { a = "1" }, binaryData = { a = "AAEC" } }),
    },
    {
        "a key that is no file name", "POST " .. MAPS,
        configmap("key", { data = { ["a/b"] = "1" } }),
    },
    {
        "labels and annotations", "POST " .. MAPS,
        configmap("labelled", {
            metadata = {
                labels = { app = "shop", ["example.com/x"] = "" },
                annotations = { ["example.com/note"] = "any thing at all" },
            },
        }),
    },
    {
        "a label that is none", "POST " .. MAPS,
        configmap("label", { metadata = { labels = { app = "no good" } } }),
    },
    {
        "a label whose key is none", "POST " .. MAPS,
        configmap("label", { metadata = { labels = { ["no good"] = "x" } } }),
    },
    {
        "an annotation whose key is none", "POST " .. MAPS,
        configmap("label", { metadata = { annotations = { ["no good"] = "x" } } }),
    },
    { "no name", "POST " .. MAPS, { apiVersion = "v1", kind = "ConfigMap", metadata = {} } },
    { "no metadata", "POST " .. MAPS, { apiVersion = "v1", kind = "ConfigMap" } },
    { "a name in capitals", "POST " .. MAPS, configmap("One") },
    { "a name with a slash", "POST " .. MAPS, configmap("a/b") },
    { "a name of 254 characters", "POST " .. MAPS, configmap(("a"):rep(254)) },
    {
        "a generated name", "POST " .. MAPS,
        { apiVersion = "v1", kind = "ConfigMap", metadata = { generateName = "gen-" } },
        save = { generated = "metadata.name" },
    },
    { "it is there", "GET " .. MAPS .. "/{generated}" },
    {
        "a name wins over a generated one", "POST " .. MAPS,
        configmap("named", { metadata = { generateName = "gen-" } }),
    },
    {
        "a generated name that cannot be one", "POST " .. MAPS,
        { apiVersion = "v1", kind = "ConfigMap", metadata = { generateName = "No_" } },
        only = "status",
    },
    { "a dry run", "POST " .. MAPS .. "?dryRun=All", configmap("dry") },
    { "made nothing", "GET " .. MAPS .. "/dry" },
    { "a dry run of what exists", "POST " .. MAPS .. "?dryRun=All", configmap("one") },
    { "a dry run that is none", "POST " .. MAPS .. "?dryRun=Some", configmap("dry") },
    { "an empty dry run", "POST " .. MAPS .. "?dryRun=", configmap("dry") },
    {
        "another namespace in the body", "POST " .. MAPS,
        configmap("elsewhere", { metadata = { namespace = "default" } }),
    },
    {
        "the namespace in the body", "POST " .. MAPS,
        configmap("here", { metadata = { namespace = "{ns}" } }),
    },
    { "another kind", "POST " .. MAPS, pod("kind") },
    { "another version", "POST " .. MAPS, objects.of("v2", "ConfigMap", "version") },
    { "no kind", "POST " .. MAPS, { metadata = { name = "kindless" } } },
    {
        "a kind and no version", "POST " .. MAPS,
        { kind = "ConfigMap", metadata = { name = "versionless" } },
    },
    { "a kind that nobody knows", "POST " .. MAPS, objects.of("v1", "Nothing", "nothing") },
    {
        "a resourceVersion", "POST " .. MAPS,
        configmap("versioned", { metadata = { resourceVersion = "5" } }),
    },
    {
        "a uid", "POST " .. MAPS,
        configmap("identity", { metadata = { uid = "00000000-0000-0000-0000-000000000001" } }),
    },
    {
        "a creation and a deletion time", "POST " .. MAPS,
        configmap("times", {
            metadata = {
                creationTimestamp = "2001-01-01T00:00:00Z",
                deletionTimestamp = "2001-01-01T00:00:00Z", deletionGracePeriodSeconds = 7,
                generation = 9, selfLink = "/x",
            },
        }),
    },
    {
        "no time at all", "POST " .. MAPS,
        [[{"apiVersion":"v1","kind":"ConfigMap",]]
            .. [["metadata":{"name":"null-time","creationTimestamp":null}}]],
    },
    {
        "in a namespace that is not there", "POST /api/v1/namespaces/{ns}-none/configmaps",
        configmap("lost"),
    },
    { "at no namespace", "POST /api/v1/configmaps", configmap("lost") },
    { "on an object", "POST " .. MAPS .. "/one", configmap("one") },
    {
        "of a resource that is not there", "POST /api/v1/namespaces/{ns}/nothings",
        configmap("one"),
    },
    {
        "an owner", "POST " .. MAPS,
        configmap("owned", {
            metadata = {
                ownerReferences = {
                    {
                        apiVersion = "v1", kind = "ConfigMap", name = "one",
                        uid = "00000000-0000-0000-0000-000000000001",
                    },
                },
            },
        }),
    },
    {
        "an owner without uid", "POST " .. MAPS,
        configmap("owned2", {
            metadata = {
                ownerReferences = { { apiVersion = "v1", kind = "ConfigMap", name = "one" } },
            },
        }),
    },
    {
        "an owner without anything", "POST " .. MAPS,
        configmap("owned3", { metadata = { ownerReferences = { {} } } }),
    },
    { "two controllers", "POST " .. MAPS, configmap("owned4", { metadata = { ownerReferences = {
        { apiVersion = "v1", kind = "ConfigMap", name = "a", uid = "a", controller = true },
        {
            apiVersion = "v1", kind = "ConfigMap", name = "b", uid = "b", controller = true,
        } } } }) },
    {
        "an event as owner", "POST " .. MAPS,
        configmap("owned5", {
            metadata = {
                ownerReferences = { { apiVersion = "v1", kind = "Event", name = "a", uid = "a" } },
            },
        }),
    },
    {
        "a finalizer", "POST " .. MAPS,
        configmap("final", { metadata = { finalizers = { "example.com/x" } } }),
    },
    {
        "a finalizer without a domain", "POST " .. MAPS,
        configmap("final2", { metadata = { finalizers = { "x" } } }),
    },
    {
        "a finalizer that is no name", "POST " .. MAPS,
        configmap("final3", { metadata = { finalizers = { "no good" } } }),
    },
    { "immutable", "POST " .. MAPS, configmap("fixed", { immutable = true, data = { a = "1" } }) },
    { "a field manager", "POST " .. MAPS .. "?fieldManager=me", configmap("managed") },
    {
        "a field manager that is too long", "POST " .. MAPS .. "?fieldManager=" .. ("m"):rep(129),
        configmap("managed2"),
    },
    {
        "a field manager that cannot be printed", "POST " .. MAPS .. "?fieldManager=a%01b",
        configmap("managed3"),
    },
    { "a parameter that nobody knows", "POST " .. MAPS .. "?nothing=1", configmap("parameters") },
    {
        "an answer pretty printed", "POST " .. MAPS .. "?pretty=true", configmap("pretty"),
        only = "headers",
    },
    {
        "an empty array of owners", "POST " .. MAPS,
        configmap("empty", {
            metadata = { ownerReferences = core.array {}, labels = {}, finalizers = core.array {} },
            data = {},
        }),
    },
}
