-- Differences that are known, for one reason (spec/truth/README.md).
return {
    what = "finalizers and times of volumes and claims, which admission sets",
    why = "nobody here would take them away again",
    { "kinds_core: made, strictly: v1 persistentvolumeclaims", "body.metadata.finalizers" },
    { "kinds_core: got: v1 persistentvolumeclaims", "body.metadata.finalizers" },
    { "kinds_core: listed: v1 persistentvolumeclaims", "body.items[1].metadata.finalizers" },
    {
        "kinds_core: as a table: v1 persistentvolumeclaims",
        "body.rows[1].object.metadata.finalizers",
    },
    { "kinds_core: status: v1 persistentvolumeclaims", "body.metadata.finalizers" },
    { "kinds_core: written back: v1 persistentvolumeclaims", "body.metadata.finalizers" },
    {
        "kinds_core: deleted: v1 persistentvolumeclaims",
        "body.metadata.deletionGracePeriodSeconds",
        "body.metadata.deletionTimestamp",
        "body.metadata.finalizers",
    },
    {
        "kinds_core: made, strictly: v1 persistentvolumes",
        "body.metadata.finalizers",
        "body.status.lastPhaseTransitionTime",
    },
    {
        "kinds_core: got: v1 persistentvolumes",
        "body.metadata.finalizers",
        "body.status.lastPhaseTransitionTime",
    },
    {
        "kinds_core: listed: v1 persistentvolumes",
        "body.items[1].metadata.finalizers",
        "body.items[1].status.lastPhaseTransitionTime",
    },
    { "kinds_core: as a table: v1 persistentvolumes", "body.rows[1].object.metadata.finalizers" },
    {
        "kinds_core: status: v1 persistentvolumes",
        "body.metadata.finalizers",
        "body.status.lastPhaseTransitionTime",
    },
    {
        "kinds_core: written back: v1 persistentvolumes",
        "body.metadata.finalizers",
        "body.status.lastPhaseTransitionTime",
    },
    {
        "kinds_core: deleted: v1 persistentvolumes",
        "body.metadata.deletionGracePeriodSeconds",
        "body.metadata.deletionTimestamp",
        "body.metadata.finalizers",
        "body.status.lastPhaseTransitionTime",
    },
    { "update: a claim", "body.metadata.finalizers" },
}
