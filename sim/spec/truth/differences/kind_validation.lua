-- Known differences with one reason (sim/spec/truth/README.md).
return {
    what = "refusals of objects of other built-in kinds",
    why = "not implemented: the simulator does not read certificate requests",
    { "create: a field manager that cannot be printed", "status" },
    { "kinds_other: made, strictly: certificates.k8s.io/v1 certificatesigningrequests", "status" },
    { "update: a longer deadline", "status" },
    {
        "validation: service: a cluster IP of elsewhere",
        "body.details.causes[1].message",
        "body.message",
    },
}
