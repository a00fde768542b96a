-- Differences that are known, for one reason (spec/truth/README.md).
return {
    what = "causes about metadata and specs are listed once",
    why = "a real server looks twice at an update, and lists them twice",
    { "delete: a finalizer more", "body.details.causes" },
    { "patch: merge: another uid", "body.details.causes" },
    { "status_fields: with another uid", "body.details.causes" },
    { "update: with a deletion time", "body.details.causes" },
    { "update: with a grace", "body.details.causes" },
    { "update: with labels that are none", "body.details.causes" },
    { "update: the node of a pod", "body.details.causes[1].message" },
    { "update: the restart policy of a pod", "body.details.causes[1].message" },
    { "update: the role of a binding cannot change", "body.details.causes[1].message" },
}
