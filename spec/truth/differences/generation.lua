-- Differences that are known, for one reason (spec/truth/README.md).
return {
    what = "generation in rare cases",
    why = "annotations of workloads and times count in the real one",
    {
        "kinds_other: written back: discovery.k8s.io/v1 endpointslices",
        "body.metadata.generation",
    },
}
