-- Differences that are known, for one reason (spec/truth/README.md).
return {
    what = "groups in another order, and where they are stored",
    why = "the order is that of their making",
    { "discovery: the list of groups", "body.groups.order" },
    { "discovery: the groups with a slash at the end", "body.groups.order" },
    {
        "discovery: the aggregated groups",
        "body.items[21].metadata.name",
        "body.items[21].versions",
        "body.items[22].metadata.name",
        "body.items[22].versions",
    },
    { "discovery: a POST to discovery", "body.groups.order" },
}
