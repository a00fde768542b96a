-- CustomResourceDefinitions: made, served at once, in several versions and forms, deleted.
local core = require "kubelua.core"
local webs = require "webs"

local DEFINITIONS, GROUP, WEB, WEB_CRD = webs.definitions, webs.group, webs.path, webs.definition
local definition, web, WEB_SPEC = webs.define, webs.object, webs.spec

local TABLE = { Accept = "application/json;as=Table;g=meta.k8s.io;v=v1" }

return {
    { "what is not defined yet", "GET " .. WEB },
    { "a definition", "POST " .. DEFINITIONS, definition("webs", "Web", WEB_SPEC) },
    { "the same again", "POST " .. DEFINITIONS, definition("webs", "Web", WEB_SPEC) },
    { "it is served", "GET " .. WEB, wait = 200 },
    { "it is established", "GET " .. WEB_CRD },
    { "its group", "GET /apis/{ns}.example.com", wait = 200 },
    { "its resources", "GET /apis/{ns}.example.com/v1", wait = 200 },
    { "its resources in another version", "GET /apis/{ns}.example.com/v2" },
    {
        "as a table: the definition",
        "GET " .. DEFINITIONS .. "?fieldSelector=metadata.name=webs." .. GROUP, headers = TABLE,
    },
    {
        "an object", "POST " .. WEB, web("one", { image = "app:1" }),
        save = { rv = "metadata.resourceVersion" },
    },
    { "got", "GET " .. WEB .. "/one" },
    { "got in another version", "GET /apis/{ns}.example.com/v2/namespaces/{ns}/webs/one" },
    { "listed", "GET " .. WEB },
    { "as a table", "GET " .. WEB, headers = TABLE },
    {
        "as a table in another version", "GET /apis/{ns}.example.com/v2/namespaces/{ns}/webs",
        headers = TABLE,
    },
    {
        "as metadata", "GET " .. WEB .. "/one",
        headers = { Accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1" },
    },
    {
        "a version that is not served any more", "PATCH " .. WEB_CRD,
        [=[[{"op":"replace","path":"/spec/versions/1/served","value":false}]]=],
        type = "application/json-patch+json",
    },
    { "is gone", "GET /apis/{ns}.example.com/v2/namespaces/{ns}/webs/one", wait = 404 },
    { "the status of a definition", "GET " .. WEB_CRD .. "/status" },
    {
        "the scope of a definition cannot change", "PATCH " .. WEB_CRD,
        { spec = { scope = "Cluster" } },
    },
    {
        "the plural of a definition cannot change", "PATCH " .. WEB_CRD,
        { spec = { names = { plural = "spiders" } } },
    },
    { "a definition is deleted", "DELETE " .. WEB_CRD, only = "status" },
    { "and what it defined", "GET " .. WEB, wait = 404 },
    { "and its definition", "GET " .. WEB_CRD, wait = 404 },
    { "and its group", "GET /apis/{ns}.example.com/v1", wait = 404 },
    {
        "an empty definition", "POST " .. DEFINITIONS,
        {
            apiVersion = "apiextensions.k8s.io/v1", kind = "CustomResourceDefinition",
            metadata = { name = "a.b" }, spec = { versions = core.array {} },
        },
    },
}
