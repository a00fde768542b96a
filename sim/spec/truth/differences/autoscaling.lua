-- Known differences with one reason (sim/spec/truth/README.md).
return {
    what = "a HorizontalPodAutoscaler is served in autoscaling/v2 only",
    why = "kubectl and controllers use v2; v1 would need a conversion of its own",
    { "discovery: the list of groups", "body.groups.autoscaling.versions" },
    { "discovery: a group with several versions", "body.versions" },
    { "discovery: the groups with a slash at the end", "body.groups.autoscaling.versions" },
    { "discovery: a POST to discovery", "body.groups.autoscaling.versions" },
}
