/*
 * builtin_names.c - see builtin_names.h. Names, short names, versions and
 * scopes as `kubectl api-resources` of Kubernetes 1.36 lists them. A resource
 * that is missing here only costs the requests of discovery: two, and more with
 * servers before Kubernetes 1.26.
 */
#include "api/builtin_names.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* If two groups have the same name, a bare name means the first row, as for
 * kubectl. */
static const kl_kind builtins[] = {
    {"pods", "Pod", "po", "v1", "", true, true},
    {"services", "Service", "svc", "v1", "", true, true},
    {"nodes", "Node", "no", "v1", "", false, true},
    {"namespaces", "Namespace", "ns", "v1", "", false, true},
    {"configmaps", "ConfigMap", "cm", "v1", "", true, false},
    {"secrets", "Secret", "", "v1", "", true, false},
    {"endpoints", "Endpoints", "ep", "v1", "", true, false},
    {"events", "Event", "ev", "v1", "", true, false},
    {"serviceaccounts", "ServiceAccount", "sa", "v1", "", true, false},
    {"persistentvolumes", "PersistentVolume", "pv", "v1", "", false, true},
    {"persistentvolumeclaims", "PersistentVolumeClaim", "pvc", "v1", "", true,
     true},
    {"replicationcontrollers", "ReplicationController", "rc", "v1", "", true,
     true},
    {"resourcequotas", "ResourceQuota", "quota", "v1", "", true, true},
    {"limitranges", "LimitRange", "limits", "v1", "", true, false},
    {"podtemplates", "PodTemplate", "", "v1", "", true, false},
    {"deployments", "Deployment", "deploy", "v1", "apps", true, true},
    {"replicasets", "ReplicaSet", "rs", "v1", "apps", true, true},
    {"statefulsets", "StatefulSet", "sts", "v1", "apps", true, true},
    {"daemonsets", "DaemonSet", "ds", "v1", "apps", true, true},
    {"controllerrevisions", "ControllerRevision", "", "v1", "apps", true,
     false},
    {"jobs", "Job", "", "v1", "batch", true, true},
    {"cronjobs", "CronJob", "cj", "v1", "batch", true, true},
    {"horizontalpodautoscalers", "HorizontalPodAutoscaler", "hpa", "v2",
     "autoscaling", true, true},
    {"ingresses", "Ingress", "ing", "v1", "networking.k8s.io", true, true},
    {"ingressclasses", "IngressClass", "", "v1", "networking.k8s.io", false,
     false},
    {"networkpolicies", "NetworkPolicy", "netpol", "v1", "networking.k8s.io",
     true, false},
    {"ipaddresses", "IPAddress", "ip", "v1", "networking.k8s.io", false, false},
    {"servicecidrs", "ServiceCIDR", "", "v1", "networking.k8s.io", false, true},
    {"endpointslices", "EndpointSlice", "", "v1", "discovery.k8s.io", true,
     false},
    {"events", "Event", "ev", "v1", "events.k8s.io", true, false},
    {"leases", "Lease", "", "v1", "coordination.k8s.io", true, false},
    {"poddisruptionbudgets", "PodDisruptionBudget", "pdb", "v1", "policy", true,
     true},
    {"roles", "Role", "", "v1", "rbac.authorization.k8s.io", true, false},
    {"rolebindings", "RoleBinding", "", "v1", "rbac.authorization.k8s.io", true,
     false},
    {"clusterroles", "ClusterRole", "", "v1", "rbac.authorization.k8s.io",
     false, false},
    {"clusterrolebindings", "ClusterRoleBinding", "", "v1",
     "rbac.authorization.k8s.io", false, false},
    {"storageclasses", "StorageClass", "sc", "v1", "storage.k8s.io", false,
     false},
    {"volumeattachments", "VolumeAttachment", "", "v1", "storage.k8s.io", false,
     true},
    {"csidrivers", "CSIDriver", "", "v1", "storage.k8s.io", false, false},
    {"csinodes", "CSINode", "", "v1", "storage.k8s.io", false, false},
    {"csistoragecapacities", "CSIStorageCapacity", "", "v1", "storage.k8s.io",
     true, false},
    {"volumeattributesclasses", "VolumeAttributesClass", "vac", "v1",
     "storage.k8s.io", false, false},
    {"priorityclasses", "PriorityClass", "pc", "v1", "scheduling.k8s.io", false,
     false},
    {"runtimeclasses", "RuntimeClass", "", "v1", "node.k8s.io", false, false},
    {"customresourcedefinitions", "CustomResourceDefinition", "crd,crds", "v1",
     "apiextensions.k8s.io", false, true},
    {"apiservices", "APIService", "", "v1", "apiregistration.k8s.io", false,
     true},
    {"mutatingwebhookconfigurations", "MutatingWebhookConfiguration", "", "v1",
     "admissionregistration.k8s.io", false, false},
    {"validatingwebhookconfigurations", "ValidatingWebhookConfiguration", "",
     "v1", "admissionregistration.k8s.io", false, false},
    {"mutatingadmissionpolicies", "MutatingAdmissionPolicy", "", "v1",
     "admissionregistration.k8s.io", false, false},
    {"mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding", "",
     "v1", "admissionregistration.k8s.io", false, false},
    {"validatingadmissionpolicies", "ValidatingAdmissionPolicy", "", "v1",
     "admissionregistration.k8s.io", false, true},
    {"validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding",
     "", "v1", "admissionregistration.k8s.io", false, false},
    {"certificatesigningrequests", "CertificateSigningRequest", "csr", "v1",
     "certificates.k8s.io", false, true},
    {"flowschemas", "FlowSchema", "", "v1", "flowcontrol.apiserver.k8s.io",
     false, true},
    {"prioritylevelconfigurations", "PriorityLevelConfiguration", "", "v1",
     "flowcontrol.apiserver.k8s.io", false, true},
    {"resourceclaims", "ResourceClaim", "", "v1", "resource.k8s.io", true,
     true},
    {"resourceclaimtemplates", "ResourceClaimTemplate", "", "v1",
     "resource.k8s.io", true, false},
    {"resourceslices", "ResourceSlice", "", "v1", "resource.k8s.io", false,
     false},
    {"deviceclasses", "DeviceClass", "", "v1", "resource.k8s.io", false, false},
};

enum { NAME_SIZE = 128 };

/* True if `name` is one of `names` ("crd,crds"), in upper or lower case. */
static bool is_short_name(const char *names, const char *name)
{
    size_t length = strlen(name);

    while (names[0] != '\0') {
        size_t own = strcspn(names, ",");

        if (own == length && strncasecmp(names, name, length) == 0) {
            return true;
        }
        names += own + (names[own] == ',' ? 1 : 0);
    }
    return false;
}

/* True if `name` is the plural, the kind (the singular in capitals) or a short
 * name; upper and lower case are equal, as for kubectl. */
static bool is_called(const kl_kind *entry, const char *name)
{
    return strcasecmp(entry->plural, name) == 0 ||
           strcasecmp(entry->kind, name) == 0 ||
           is_short_name(entry->short_names, name);
}

/* "v1" or "apps/v1". */
static bool is_api_version(const kl_kind *entry, const char *text)
{
    char own[NAME_SIZE];

    snprintf(own, sizeof(own), "%s%s%s", entry->group,
             entry->group[0] != '\0' ? "/" : "", entry->version);
    return strcmp(own, text) == 0;
}

/* "apps" or "v1.apps"; "v1." is the core group. */
static bool is_suffix(const kl_kind *entry, const char *text)
{
    char own[NAME_SIZE];

    snprintf(own, sizeof(own), "%s.%s", entry->version, entry->group);
    return strcmp(own, text) == 0 ||
           (entry->group[0] != '\0' && strcmp(entry->group, text) == 0);
}

/* Copies the part of a name up to a slash or dot. False: it is longer than any
 * name. */
static bool copy_first(const char *typed, size_t length, char first[NAME_SIZE])
{
    if (length >= NAME_SIZE) {
        return false;
    }
    memcpy(first, typed, length);
    first[length] = '\0';
    return true;
}

const kl_kind *kl_kind_builtin(const char *typed)
{
    const char *slash = strrchr(typed, '/');
    const char *dot = strchr(typed, '.');
    char first[NAME_SIZE];
    size_t length = slash != NULL ? (size_t)(slash - typed)
                    : dot != NULL ? (size_t)(dot - typed)
                                  : strlen(typed);

    if (!copy_first(typed, length, first)) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++) {
        const kl_kind *entry = &builtins[i];
        bool meant;

        if (slash != NULL) {
            meant = is_api_version(entry, first) && is_called(entry, slash + 1);
        } else {
            meant = is_called(entry, first) &&
                    (dot == NULL || is_suffix(entry, dot + 1));
        }
        if (meant) {
            return entry;
        }
    }
    return NULL;
}

const kl_kind *kl__builtin_at(size_t index)
{
    return index < sizeof(builtins) / sizeof(builtins[0]) ? &builtins[index]
                                                          : NULL;
}
