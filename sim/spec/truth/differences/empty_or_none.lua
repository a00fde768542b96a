-- Known differences with one reason (sim/spec/truth/README.md).
return {
    what = "an empty list or map where a value is required",
    why = "the simulator treats it like an absent one, and fills in the default",
    { "odd_values: volume: of nothing", "body.details.causes[2].message", "body.message" },
    { "odd_values: autoscaler: no policies", "status" },
    { "odd_values: autoscaler: no policies, to shrink", "status" },
}
