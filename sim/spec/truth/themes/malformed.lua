-- Bodies that are no objects, or of the wrong types, too large or too deep, and their media types.
local objects = require "objects"

local configmap = objects.configmap
local MAPS = "/api/v1/namespaces/{ns}/configmaps"
local PODS = "/api/v1/namespaces/{ns}/pods"

return {
    { "no JSON", "POST " .. MAPS, "{nothing" },
    { "an array", "POST " .. MAPS, "[]" },
    { "a string", "POST " .. MAPS, '"text"' },
    { "null", "POST " .. MAPS, "null" },
    { "no body", "POST " .. MAPS, "" },
    { "an empty object", "POST " .. MAPS, "{}" },
    {
        "JSON with more behind it", "POST " .. MAPS,
        '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"more"}} {}',
    },
    {
        "a text that is no UTF-8", "POST " .. MAPS,
        '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"utf"},"data":{"a":"\255"}}',
    },
    {
        "a number where a text belongs", "POST " .. MAPS,
        '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"typed"},"data":{"a":1}}',
    },
    {
        "an array where an object belongs", "POST " .. MAPS,
        '{"apiVersion":"v1","kind":"ConfigMap","metadata":[]}',
    },
    {
        "a text where an object belongs", "POST " .. MAPS,
        '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"typed"},"data":"a"}',
    },
    { "a number as kind", "POST " .. MAPS, '{"apiVersion":"v1","kind":1}' },
    {
        "a name that is a number", "POST " .. MAPS,
        '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":1}}',
    },
    {
        "a fraction where an integer belongs", "POST " .. PODS,
        '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"half"},"spec":{"terminationGrac'
            .. 'ePeriodSeconds":1.5,"containers":[{"name":"a","image":"a"}]}}',
    },
    {
        "a text where a bool belongs", "POST " .. PODS,
        '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"half"},"spec":{"hostNetwork":"y'
            .. 'es","containers":[{"name":"a","image":"a"}]}}',
    },
    {
        "an object that is too large", "POST " .. MAPS,
        configmap("large", { data = { a = ("x"):rep(1100000) } }),
    },
    {
        "a body that is too large", "POST " .. MAPS,
        configmap("huge", { data = { a = ("x"):rep(3200000) } }), only = "status",
    },
    { "nesting that is too deep", "POST " .. MAPS, ("["):rep(20000), only = "status" },
    { "a media type that nobody reads", "POST " .. MAPS, configmap("media"), type = "text/plain" },
    {
        "a media type with a parameter", "POST " .. MAPS, configmap("parameter"),
        type = "application/json; charset=utf-8",
    },
    { "no media type", "POST " .. MAPS, configmap("typeless"), type = "" },
    {
        "the media type of forms", "POST " .. MAPS, configmap("form"),
        type = "application/x-www-form-urlencoded",
    },
    {
        "YAML", "POST " .. MAPS,
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yaml\ndata:\n  a: text\n",
        type = "application/yaml",
    },
    { "YAML that is none", "POST " .. MAPS, "a: [b", type = "application/yaml", only = "status" },
}
