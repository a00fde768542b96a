-- Known differences with one reason (sim/spec/truth/README.md).
return {
    what = "messages about patches that fail",
    why = "the real ones name Go's own types",
    { "patch: merge: another kind", "body.details.causes[1].message", "body.message" },
    { "strategic: strategic: an order without its items", "body.message" },
    { "strategic: strategic: a wrong type", "body.details.causes[1].message", "body.message" },
    {
        "strategic: strategic: an object where a list belongs",
        "body.details.causes[1].message", "body.message",
    },
}
