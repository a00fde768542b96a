-- Differences that are known, for one reason (spec/truth/README.md).
return {
    what = "words of patches that fail",
    why = "Go's own types stand in them",
    { "patch: merge: another kind", "body.details.causes[1].message", "body.message" },
    { "strategic: strategic: an order without its items", "body.message" },
}
