-- Differences that are known, for one reason (spec/truth/README.md).
return {
    what = "conditions and times of definitions",
    why = "there is no controller that sets them after a while",
    { "crd: it is established", "body.metadata.managedFields" },
    { "crd: as a table: the definition", "body.rows[1].object.metadata.managedFields" },
    { "crd: a version that is not served any more", "body.metadata.managedFields" },
    { "crd: the status of a definition", "body.metadata.managedFields" },
    { "crd_objects: a number where an object belongs", "body.details.causes", "body.message" },
    { "crd_objects: a JSON patch", "body.metadata.managedFields" },
    { "crd_schema: of the cluster", "body.metadata.managedFields" },
    { "crd_schema: is not accepted", "body.metadata.managedFields" },
    { "protobuf: the definition", "body.metadata.managedFields" },
}
