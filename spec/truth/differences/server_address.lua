-- Differences that are known, for one reason (spec/truth/README.md).
return {
    what = "/api does not tell addresses",
    why = "in-process there is none",
    { "protobuf: /api as protobuf", "body.serverAddressByClientCIDRs" },
    { "discovery: the versions of the core group", "body.serverAddressByClientCIDRs" },
}
