-- Differences that are known, for one reason (spec/truth/README.md).
return {
    what = "where the service of the API leads; who made the roles of the beginning",
    why = "in-process there is no port; roles are loaded, as a manifest is",
    { "namespaces: the service of the API", "body.spec.ports.https.targetPort" },
    { "namespaces: roles from the beginning", "body.metadata.managedFields" },
}
