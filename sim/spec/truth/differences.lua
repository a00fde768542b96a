-- What the simulator answers otherwise than kube-apiserver, and why that stays so: for each reason
-- `what` and `why` for the table of docs/DIFFERENCES.md, then a request and the parts of its answer
-- that differ; or `anywhere`, a pattern of parts in any answer.
return {
    {
        what = "values that strategies and admission set in rare cases",
        why = "the simulator has the common cases only",
        { "create: two controllers", "body.details.causes[1].message", "body.message" },
        { "delete: with another version", "body.message" },
        { "kinds: as a table: v1 services", "body.rows[1].cells[3]" },
        { "update: the node of a pod", "body.message" },
        { "update: the restart policy of a pod", "body.message" },
    },
    {
        what = "what follows a write that only the real server refuses",
        why = "see the rows about refusals",
        { "kinds: got: certificates.k8s.io/v1 certificatesigningrequests", "status" },
        { "kinds: status: certificates.k8s.io/v1 certificatesigningrequests", "status" },
        {
            "kinds: written back: certificates.k8s.io/v1 certificatesigningrequests",
            "status",
        },
        { "kinds: deleted: certificates.k8s.io/v1 certificatesigningrequests", "status" },
    },
    {
        what = "a HorizontalPodAutoscaler is served in autoscaling/v2 only",
        why = "kubectl and controllers use v2; v1 would need a conversion of its own",
        { "discovery: the list of groups", "body.groups.autoscaling.versions" },
        { "discovery: a group with several versions", "body.versions" },
        { "discovery: the groups with a slash at the end", "body.groups.autoscaling.versions" },
        { "discovery: a POST to discovery", "body.groups.autoscaling.versions" },
    },
    {
        what = "in a refused update of a Pod: the difference that the message prints, and how "
            .. "often labels are named",
        why = "the real one prints Go structs, and names labels as often as the code of a kind "
            .. "looks at them",
        { "update: with labels that are none", "body.details.causes" },
        { "update: the node of a pod", "body.details.causes[1].message" },
        { "update: the restart policy of a pod", "body.details.causes[1].message" },
        { "validation: Job: change 4", "body.details.causes" },
    },
    {
        what = "the difference that a refused change of a claim's spec prints",
        why = "the real one prints a diff of its Go structs",
        {
            "validation: PersistentVolumeClaim: change 1",
            "body.details.causes[1].message",
            "body.message",
        },
    },
    {
        what = "columns of tables have no descriptions",
        why = "the compact table of kinds has no documentation texts",
        anywhere = "columnDefinitions%..*%.description$",
    },
    {
        what = "ComponentStatus is not served",
        why = "deprecated since 1.19; it reports a scheduler, a controller manager and an "
            .. "etcd, which are not there",
        { "discovery: the resources of the core group", "body.resources.componentstatuses" },
        { "discovery: the aggregated core group", "body.items[1].versions[1].resources" },
        { "watch: of kinds that cannot be watched", "status" },
    },
    {
        what = "the address of the API's own service; the manager of the initial roles",
        why = "in-process there is no port; the roles are loaded like a manifest",
        { "namespaces: the service of the API", "body.spec.ports.https.targetPort" },
        { "namespaces: roles from the beginning", "body.metadata.managedFields" },
    },
    {
        what = "refusals of objects of other built-in kinds",
        why = "not implemented: the simulator does not read certificate requests",
        { "create: a field manager that cannot be printed", "status" },
        {
            "kinds: made, strictly: certificates.k8s.io/v1 certificatesigningrequests",
            "status",
        },
        { "update: a longer deadline", "status" },
        {
            "validation: service: a cluster IP of elsewhere",
            "body.details.causes[1].message",
            "body.message",
        },
    },
    {
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
    },
    {
        what = "the words for a list as a body",
        why = "lists are not in the table of types, as all have the same fields",
        { "update: a list as a body", "body.message" },
    },
    {
        what = "the words for a text that is no JSON",
        why = "they are those of the simulator's parser, with the place of the fault",
        { "delete: with rubbish", "body.message" },
        { "delete: a collection with rubbish", "body.message" },
        { "list: a page of rubbish", "body.message" },
        { "patch: json: rubbish", "body.message" },
        { "patch: json: nothing", "body.message" },
        { "patch: merge: rubbish", "body.message" },
        { "patch: merge: no body", "body.message" },
        { "strategic: strategic: rubbish", "body.message" },
        { "update: no JSON", "body.message" },
        { "update: no body", "body.message" },
    },
    {
        what = "messages about patches that fail",
        why = "the real ones name Go's own types",
        { "patch: merge: another kind", "body.details.causes[1].message", "body.message" },
        { "strategic: strategic: an order without its items", "body.message" },
        { "strategic: strategic: a wrong type", "body.details.causes[1].message", "body.message" },
        {
            "strategic: strategic: an object where a list belongs",
            "body.details.causes[1].message", "body.message",
        },
    },
    {
        what = "a volume has no lastPhaseTransitionTime",
        why = "no script reads it",
        anywhere = "status%.lastPhaseTransitionTime$",
    },
    {
        what = "a 406 does not name protobuf or YAML",
        why = "answers are JSON",
        { "discovery: a group as text that nobody writes", "body.message" },
        { "watch: as text", "body.details", "body.message" },
    },
    {
        what = "/api has no server addresses",
        why = "in-process there is none",
        { "discovery: the versions of the core group", "body.serverAddressByClientCIDRs" },
    },
    {
        what = "discovery has no storageVersionHash",
        why = "only a server's own migration of stored objects reads it",
        anywhere = "storageVersionHash$",
    },
    {
        what = "the words of refusals of patches and applies, and of objects of another kind",
        why = "values are shown as JSON, in the order of the object, and Go's decoder is not named",
        { "apply: a wrong type", "body.message" },
        { "create: a kind that nobody knows", "body.message" },
        { "create: another kind", "body.message" },
        { "create: another version", "body.message" },
        { "patch: json: a number into data", "body.details.causes[1].message", "body.message" },
        {
            "patch: merge: another version of the API", "body.details.causes[1].message",
            "body.message",
        },
        { "patch: merge: a wrong type", "body.details.causes[1].message", "body.message" },
        { "strategic: strategic: a directive that is none", "body.message" },
        { "strategic: strategic: an item without its key", "body.message" },
        {
            "strict: Strict: an unknown field by JSON patch", "body.details.causes[1].message",
            "body.message",
        },
        {
            "strict: Strict: an unknown field by merge patch", "body.details.causes[1].message",
            "body.message",
        },
        {
            "strict: Strict: an unknown field by strategic merge patch",
            "body.details.causes[1].message", "body.message",
        },
        {
            "strict: Strict: an unknown key of a JSON patch", "body.details.causes[1].message",
            "body.message",
        },
        { "update: of another kind", "body.message" },
    },
    {
        what = "the version names the simulator",
        why = "a client may want to know",
        {
            "discovery: the server's version",
            "body.compiler",
            "body.gitCommit",
            "body.gitVersion",
            "body.goVersion",
            "body.platform",
        },
        {
            "discovery: the server's version with a slash",
            "body.compiler",
            "body.gitCommit",
            "body.gitVersion",
            "body.goVersion",
            "body.platform",
        },
    },
}
