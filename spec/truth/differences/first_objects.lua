-- Differences that are known, for one reason (spec/truth/README.md).
return {
    what = "the objects that a control plane makes at its start",
    why = "an empty cluster starts at once; `rbac` brings the roles",
    {
        "namespaces: the first namespaces",
        "body.items[1].metadata.managedFields",
        "body.items[2].metadata.managedFields",
        "body.items[3].metadata.managedFields",
        "body.items[4].metadata.managedFields",
    },
    { "namespaces: the service of the API", "status" },
    { "namespaces: roles from the beginning", "status" },
    { "namespaces: priorities from the beginning", "body.items" },
}
