-- Known differences with one reason (sim/spec/truth/README.md).
return {
    what = "values that strategies and admission set in rare cases",
    why = "the simulator has the common cases only",
    { "create: two controllers", "body.details.causes[1].message", "body.message" },
    { "delete: with another version", "body.message" },
    { "kinds_core: as a table: v1 services", "body.rows[1].cells[3]" },
    { "kinds_core: status: v1 endpoints", "header.warning" },
    { "update: the node of a pod", "body.message" },
    { "update: the restart policy of a pod", "body.message" },
}
