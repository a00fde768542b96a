-- Known differences with one reason (sim/spec/truth/README.md).
return {
    what = "kinds of a cluster's own parts are not served",
    why = "no script or controller writes them; see above",
    {
        "discovery: the list of groups", "body.groups.flowcontrol.apiserver.k8s.io",
        "body.groups.resource.k8s.io",
    },
    {
        "discovery: the groups with a slash at the end",
        "body.groups.flowcontrol.apiserver.k8s.io", "body.groups.resource.k8s.io",
    },
    {
        "discovery: a POST to discovery", "body.groups.flowcontrol.apiserver.k8s.io",
        "body.groups.resource.k8s.io",
    },
    { "discovery: the aggregated groups", "body.items" },
    {
        "discovery: the resources of networking.k8s.io/v1", "body.resources.ipaddresses",
        "body.resources.servicecidrs", "body.resources.servicecidrs/status",
    },
    {
        "discovery: the resources of storage.k8s.io/v1", "body.resources.csidrivers",
        "body.resources.csinodes", "body.resources.csistoragecapacities",
        "body.resources.volumeattachments", "body.resources.volumeattachments/status",
        "body.resources.volumeattributesclasses",
    },
    {
        "discovery: the resources of admissionregistration.k8s.io/v1",
        "body.resources.mutatingadmissionpolicies",
        "body.resources.mutatingadmissionpolicybindings",
        "body.resources.validatingadmissionpolicies",
        "body.resources.validatingadmissionpolicies/status",
        "body.resources.validatingadmissionpolicybindings",
    },
    { "discovery: the resources of flowcontrol.apiserver.k8s.io/v1", "status" },
}
