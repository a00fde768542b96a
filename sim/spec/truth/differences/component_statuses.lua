-- Known differences with one reason (sim/spec/truth/README.md).
return {
    what = "ComponentStatus is not served",
    why = "deprecated since 1.19; it reports a scheduler, a controller manager and an "
        .. "etcd, which are not there",
    { "discovery: the resources of the core group", "body.resources.componentstatuses" },
    { "discovery: the aggregated core group", "body.items[1].versions[1].resources" },
    { "watch: of kinds that cannot be watched", "status" },
}
