-- Known differences with one reason (sim/spec/truth/README.md).
return {
    what = "discovery has no storageVersionHash",
    why = "only a server's own migration of stored objects reads it",
    anywhere = "storageVersionHash$",
}
