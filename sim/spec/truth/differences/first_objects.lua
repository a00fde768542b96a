-- Known differences with one reason (sim/spec/truth/README.md).
return {
    what = "the address of the API's own service; the manager of the initial roles",
    why = "in-process there is no port; the roles are loaded like a manifest",
    { "namespaces: the service of the API", "body.spec.ports.https.targetPort" },
    { "namespaces: roles from the beginning", "body.metadata.managedFields" },
}
