-- Known differences with one reason (sim/spec/truth/README.md).
return {
    what = "/api has no server addresses",
    why = "in-process there is none",
    { "discovery: the versions of the core group", "body.serverAddressByClientCIDRs" },
}
