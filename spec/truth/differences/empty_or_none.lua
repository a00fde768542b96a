-- Differences that are known, for one reason (spec/truth/README.md).
return {
    what = "an empty list or map that has to have something in it",
    why = "the simulator takes it for one that is not given, and completes it",
    { "odd_values: volume: of nothing", "body.details.causes[2].message", "body.message" },
    { "odd_values: autoscaler: no policies", "status" },
    { "odd_values: autoscaler: no policies, to shrink", "status" },
}
