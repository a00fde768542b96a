-- Differences that are known, for one reason (spec/truth/README.md).
return {
    what = "the difference in a refused update of a Pod, and how often its labels are told of",
    why = "it is printed as Go's structs; labels are listed as often as a kind's code looks",
    { "update: with labels that are none", "body.details.causes" },
    { "update: the node of a pod", "body.details.causes[1].message" },
    { "update: the restart policy of a pod", "body.details.causes[1].message" },
    { "validation_batch: autoscaler: metric: no type", "body.details.causes" },
    { "validation_batch: autoscaler: metric: a type that is none", "body.details.causes" },
    { "validation_updates: Job: change 4", "body.details.causes" },
}
