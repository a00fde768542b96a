-- Known differences with one reason (sim/spec/truth/README.md).
return {
    what = "the difference that a refused change of a claim's spec prints",
    why = "the real one prints a diff of its Go structs",
    {
        "validation_updates: PersistentVolumeClaim: change 1",
        "body.details.causes[1].message",
        "body.message",
    },
}
