-- Differences that are known, for one reason (spec/truth/README.md).
return {
    what = "what objects of other built-in kinds are refused for",
    why = "gaps: nothing here reads certificate requests, or what a token is bound to",
    { "create: a field manager that cannot be printed", "status" },
    { "kinds_other: made, strictly: certificates.k8s.io/v1 certificatesigningrequests", "status" },
    { "pod_subresources: a token for a service account", "status" },
    { "update: a longer deadline", "status" },
    {
        "validation: service: a cluster IP of elsewhere",
        "body.details.causes[1].message",
        "body.message",
    },
}
