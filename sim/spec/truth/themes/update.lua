-- PUT: conflicts, preconditions, what cannot change, generation, create on update.
local objects = require "objects"

local configmap, deployment = objects.configmap, objects.deployment
local MAPS = "/api/v1/namespaces/{ns}/configmaps"
local APPS = "/apis/apps/v1/namespaces/{ns}/deployments"

local function with(version, more)
    return configmap("one", { metadata = { resourceVersion = version }, data = more })
end

return {
    {
        "made", "POST " .. MAPS,
        configmap("one", { data = { a = "1" }, metadata = { labels = { app = "shop" } } }),
        save = { rv = "metadata.resourceVersion", uid = "metadata.uid" },
    },
    { "without a version", "PUT " .. MAPS .. "/one", configmap("one", { data = { a = "2" } }) },
    {
        "what is not in it is gone", "GET " .. MAPS .. "/one",
        save = { rv2 = "metadata.resourceVersion" },
    },
    { "at an old version", "PUT " .. MAPS .. "/one", with("{rv}", { a = "3" }) },
    {
        "at its version", "PUT " .. MAPS .. "/one", with("{rv2}", { a = "3" }),
        save = { rv3 = "metadata.resourceVersion" },
    },
    {
        "without a change", "PUT " .. MAPS .. "/one", with("{rv3}", { a = "3" }),
        save = { rv4 = "metadata.resourceVersion" },
    },
    { "and the version stays", "PUT " .. MAPS .. "/one", with("{rv3}", { a = "3" }) },
    { "at a version that is none", "PUT " .. MAPS .. "/one", with("abc", { a = "4" }) },
    { "at version 0", "PUT " .. MAPS .. "/one", with("0", { a = "4" }) },
    { "at a version to come", "PUT " .. MAPS .. "/one", with("999999999", { a = "4" }) },
    {
        "with its uid", "PUT " .. MAPS .. "/one",
        configmap("one", { metadata = { uid = "{uid}" }, data = { a = "5" } }),
    },
    {
        "with another uid", "PUT " .. MAPS .. "/one",
        configmap("one", { metadata = { uid = "00000000-0000-0000-0000-000000000001" } }),
    },
    {
        "with another uid and version", "PUT " .. MAPS .. "/one",
        configmap("one", {
            metadata = { uid = "00000000-0000-0000-0000-000000000001", resourceVersion = "{rv}" },
        }),
    },
    { "of another name", "PUT " .. MAPS .. "/one", configmap("two") },
    {
        "without a name", "PUT " .. MAPS .. "/one",
        { apiVersion = "v1", kind = "ConfigMap", data = { b = "1" } },
    },
    {
        "of another namespace", "PUT " .. MAPS .. "/one",
        configmap("one", { metadata = { namespace = "default" } }),
    },
    { "of another kind", "PUT " .. MAPS .. "/one", objects.pod("one") },
    { "of nothing that is there", "PUT " .. MAPS .. "/none", configmap("none") },
    {
        "of nothing that is there, with a version", "PUT " .. MAPS .. "/none",
        configmap("none", { metadata = { resourceVersion = "5" } }),
    },
    {
        "of nothing that is there, with a uid", "PUT " .. MAPS .. "/none",
        configmap("none", { metadata = { uid = "00000000-0000-0000-0000-000000000001" } }),
    },
    {
        "in a namespace that is not there", "PUT /api/v1/namespaces/none-{ns}/configmaps/none",
        configmap("none"),
    },
    {
        "a dry run", "PUT " .. MAPS .. "/one?dryRun=All",
        configmap("one", { data = { dry = "1" } }),
    },
    { "changed nothing", "GET " .. MAPS .. "/one" },
    {
        "with another creation time", "PUT " .. MAPS .. "/one",
        configmap("one", { metadata = { creationTimestamp = "2001-01-01T00:00:00Z" } }),
    },
    {
        "with a deletion time", "PUT " .. MAPS .. "/one",
        configmap("one", { metadata = { deletionTimestamp = "2001-01-01T00:00:00Z" } }),
    },
    {
        "with a grace", "PUT " .. MAPS .. "/one",
        configmap("one", { metadata = { deletionGracePeriodSeconds = 5 } }),
    },
    {
        "with a generation", "PUT " .. MAPS .. "/one",
        configmap("one", { metadata = { generation = 5 } }),
    },
    {
        "with labels that are none", "PUT " .. MAPS .. "/one",
        configmap("one", { metadata = { labels = { a = "b c" } } }),
    },
    {
        "a finalizer", "PUT " .. MAPS .. "/one",
        configmap("one", { metadata = { finalizers = { "example.com/a" } } }),
    },
    { "a finalizer taken away", "PUT " .. MAPS .. "/one", configmap("one") },
    {
        "made immutable", "PUT " .. MAPS .. "/one",
        configmap("one", { immutable = true, data = { a = "1" } }),
    },
    {
        "data of what is immutable", "PUT " .. MAPS .. "/one",
        configmap("one", { immutable = true, data = { a = "2" } }),
    },
    { "mutable again", "PUT " .. MAPS .. "/one", configmap("one", { data = { a = "1" } }) },
    {
        "labels of what is immutable", "PUT " .. MAPS .. "/one",
        configmap("one", {
            immutable = true, data = { a = "1" }, metadata = { labels = { x = "y" } },
        }),
    },
    { "a list as a body", "PUT " .. MAPS .. "/one", { apiVersion = "v1", kind = "ConfigMapList" } },
    { "no JSON", "PUT " .. MAPS .. "/one", "{" },
    { "no body", "PUT " .. MAPS .. "/one", "" },
    {
        "a media type that nobody reads", "PUT " .. MAPS .. "/one", configmap("one"),
        type = "text/plain",
    },

    { "a deployment", "POST " .. APPS, deployment("web") },
    {
        "its replicas raise the generation", "PATCH " .. APPS .. "/web",
        { spec = { replicas = 3 } },
    },
    { "its labels do not", "PATCH " .. APPS .. "/web", { metadata = { labels = { a = "b" } } } },
    {
        "its annotations do", "PATCH " .. APPS .. "/web",
        { metadata = { annotations = { a = "b" } } },
    },
    { "its status is not changed here", "PATCH " .. APPS .. "/web", { status = { replicas = 3 } } },
    {
        "its selector cannot change", "PATCH " .. APPS .. "/web",
        { spec = { selector = { matchLabels = { app = "other" } } } },
    },
    {
        "a template that does not match its selector", "PATCH " .. APPS .. "/web",
        { spec = { template = { metadata = { labels = { app = "other" } } } } },
    },
    { "a negative number of replicas", "PATCH " .. APPS .. "/web", { spec = { replicas = -1 } } },

    { "a pod", "POST /api/v1/namespaces/{ns}/pods", objects.pod("pod") },
    {
        "the image of a pod", "PATCH /api/v1/namespaces/{ns}/pods/pod",
        [[{"spec":{"containers":[{"name":"app","image":"app:2"}]}}]],
        type = "application/strategic-merge-patch+json",
    },
    {
        "the node of a pod", "PATCH /api/v1/namespaces/{ns}/pods/pod",
        { spec = { nodeName = "n1" } },
    },
    {
        "the restart policy of a pod", "PATCH /api/v1/namespaces/{ns}/pods/pod",
        { spec = { restartPolicy = "Never" } },
    },
    {
        "the status of a pod, here", "PATCH /api/v1/namespaces/{ns}/pods/pod",
        { status = { phase = "Running" } },
    },
    {
        "a toleration more", "PATCH /api/v1/namespaces/{ns}/pods/pod",
        { spec = { tolerations = { { key = "a", operator = "Exists" } } } },
    },
    {
        "a deadline of a pod", "PATCH /api/v1/namespaces/{ns}/pods/pod",
        { spec = { activeDeadlineSeconds = 10 } },
    },
    {
        "a longer deadline", "PATCH /api/v1/namespaces/{ns}/pods/pod",
        { spec = { activeDeadlineSeconds = 20 } },
    },

    {
        "a service", "POST /api/v1/namespaces/{ns}/services",
        objects.of("v1", "Service", "web", { spec = { ports = { { port = 80 } } } }),
    },
    {
        "another cluster IP", "PATCH /api/v1/namespaces/{ns}/services/web",
        { spec = { clusterIP = "10.0.0.250", clusterIPs = { "10.0.0.250" } } },
    },
    {
        "a service as node port", "PATCH /api/v1/namespaces/{ns}/services/web",
        { spec = { type = "NodePort" } },
    },
    {
        "a lease", "PUT /apis/coordination.k8s.io/v1/namespaces/{ns}/leases/l",
        objects.of("coordination.k8s.io/v1", "Lease", "l", {
            spec = { holderIdentity = "me", leaseDurationSeconds = 15 },
        }),
    },
    { "a lease is made by PUT", "GET /apis/coordination.k8s.io/v1/namespaces/{ns}/leases/l" },
    {
        "a secret", "POST /api/v1/namespaces/{ns}/secrets",
        objects.of("v1", "Secret", "s", { stringData = { a = "text" } }),
    },
    {
        "the type of a secret cannot change", "PATCH /api/v1/namespaces/{ns}/secrets/s",
        { type = "example.com/x" },
    },
    {
        "a job", "POST /apis/batch/v1/namespaces/{ns}/jobs",
        objects.of("batch/v1", "Job", "j", {
            spec = {
                template = {
                    spec = { restartPolicy = "Never", containers = { objects.container() } },
                },
            },
        }),
        only = "status",
    },
    {
        "the template of a job cannot change", "PATCH /apis/batch/v1/namespaces/{ns}/jobs/j",
        { spec = { template = { spec = { restartPolicy = "OnFailure" } } } }, only = "status",
    },
    {
        "a claim", "POST /api/v1/namespaces/{ns}/persistentvolumeclaims",
        objects.of("v1", "PersistentVolumeClaim", "c", {
            spec = {
                accessModes = { "ReadWriteOnce" }, resources = { requests = { storage = "1Gi" } },
            },
        }),
    },
    {
        "the access of a claim cannot change",
        "PATCH /api/v1/namespaces/{ns}/persistentvolumeclaims/c",
        { spec = { accessModes = { "ReadOnlyMany" } } }, only = "status",
    },
    {
        "a role binding", "POST /apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings",
        objects.of("rbac.authorization.k8s.io/v1", "RoleBinding", "b", {
            roleRef = {
                apiGroup = "rbac.authorization.k8s.io", kind = "ClusterRole", name = "view",
            },
            subjects = { { kind = "User", name = "me" } },
        }),
    },
    {
        "the role of a binding cannot change",
        "PATCH /apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings/b",
        { roleRef = { name = "edit" } },
    },
}
