-- Differences that are known, for one reason (spec/truth/README.md).
return {
    what = "?timeout= is not read",
    why = "nothing takes that long",
    { "list: a request timeout that is none", "status" },
}
