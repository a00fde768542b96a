-- Differences that are known, for one reason (spec/truth/README.md).
return {
    what = "words for JSON and YAML that do not parse, and of Go's own types",
    why = "they are those of another parser",
    { "crd_schema: of the cluster: in a namespace", "header.content-type" },
    { "strategic: strategic: a wrong type", "body.details.causes[1].message", "body.message" },
    {
        "strategic: strategic: an object where a list belongs",
        "body.details.causes[1].message",
        "body.message",
    },
    { "subresources: scaled to no number", "body.details.causes[1].message", "body.message" },
}
