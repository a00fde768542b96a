-- Known differences with one reason (sim/spec/truth/README.md).
return {
    what = "the first moment of the year 1",
    why = "it is Go's zero time, which is written as null",
    { "odd_values: lease: 0001-01-01T00:00:00.000000Z", "body.spec.renewTime" },
    { "odd_values: lease: 0000-12-31T23:00:00.000000-01:00", "body.spec.renewTime" },
}
