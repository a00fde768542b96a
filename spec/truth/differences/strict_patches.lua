-- Differences that are known, for one reason (spec/truth/README.md).
return {
    what = "duplicate and unknown fields of patches",
    why = "they are found in objects, not in patches",
    {
        "strict: Strict: an unknown field by merge patch",
        "body.details.causes[1].message",
        "body.message",
    },
    {
        "strict: Strict: an unknown field by JSON patch",
        "body.details.causes[1].message",
        "body.message",
    },
    { "strict: Warn: a field twice", "body.data.a" },
    { "strict: Warn: a key twice by merge patch", "header.warning" },
    { "strict: Ignore: a field twice", "body.data.a" },
    { "strict: : a field twice", "body.data.a" },
    { "strict: : a key twice by merge patch", "header.warning" },
}
