-- Differences that are known, for one reason (spec/truth/README.md).
return {
    what = "how the spec of a claim differs, in the message that it may not",
    why = "the real one prints a diff of its Go structs",
    {
        "validation_updates: PersistentVolumeClaim: change 1",
        "body.details.causes[1].message",
        "body.message",
    },
}
