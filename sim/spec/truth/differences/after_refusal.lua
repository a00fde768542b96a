-- Known differences with one reason (sim/spec/truth/README.md).
return {
    what = "what follows a write that only the real server refuses",
    why = "see the rows about refusals",
    { "kinds_other: got: certificates.k8s.io/v1 certificatesigningrequests", "status" },
    { "kinds_other: status: certificates.k8s.io/v1 certificatesigningrequests", "status" },
    { "kinds_other: written back: certificates.k8s.io/v1 certificatesigningrequests", "status" },
    { "kinds_other: deleted: certificates.k8s.io/v1 certificatesigningrequests", "status" },
}
