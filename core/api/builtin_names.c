/*
 * builtin_names.c - see builtin_names.h. Names, short names, versions and
 * scopes as `kubectl api-resources` of Kubernetes 1.36 lists them. A resource
 * that is missing here costs three requests more, nothing else.
 */
#include "api/builtin_names.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Where two groups have a name, a bare name means the first, as for kubectl. */
static const kl__builtin builtins[] = {
    {"pods", "Pod", "po", "v1", "", true},
    {"services", "Service", "svc", "v1", "", true},
    {"nodes", "Node", "no", "v1", "", false},
    {"namespaces", "Namespace", "ns", "v1", "", false},
    {"configmaps", "ConfigMap", "cm", "v1", "", true},
    {"secrets", "Secret", "", "v1", "", true},
    {"endpoints", "Endpoints", "ep", "v1", "", true},
    {"events", "Event", "ev", "v1", "", true},
    {"serviceaccounts", "ServiceAccount", "sa", "v1", "", true},
    {"persistentvolumes", "PersistentVolume", "pv", "v1", "", false},
    {"persistentvolumeclaims", "PersistentVolumeClaim", "pvc", "v1", "", true},
    {"replicationcontrollers", "ReplicationController", "rc", "v1", "", true},
    {"resourcequotas", "ResourceQuota", "quota", "v1", "", true},
    {"limitranges", "LimitRange", "limits", "v1", "", true},
    {"podtemplates", "PodTemplate", "", "v1", "", true},
    {"deployments", "Deployment", "deploy", "v1", "apps", true},
    {"replicasets", "ReplicaSet", "rs", "v1", "apps", true},
    {"statefulsets", "StatefulSet", "sts", "v1", "apps", true},
    {"daemonsets", "DaemonSet", "ds", "v1", "apps", true},
    {"controllerrevisions", "ControllerRevision", "", "v1", "apps", true},
    {"jobs", "Job", "", "v1", "batch", true},
    {"cronjobs", "CronJob", "cj", "v1", "batch", true},
    {"horizontalpodautoscalers", "HorizontalPodAutoscaler", "hpa", "v2",
     "autoscaling", true},
    {"ingresses", "Ingress", "ing", "v1", "networking.k8s.io", true},
    {"ingressclasses", "IngressClass", "", "v1", "networking.k8s.io", false},
    {"networkpolicies", "NetworkPolicy", "netpol", "v1", "networking.k8s.io",
     true},
    {"ipaddresses", "IPAddress", "ip", "v1", "networking.k8s.io", false},
    {"servicecidrs", "ServiceCIDR", "", "v1", "networking.k8s.io", false},
    {"endpointslices", "EndpointSlice", "", "v1", "discovery.k8s.io", true},
    {"events", "Event", "ev", "v1", "events.k8s.io", true},
    {"leases", "Lease", "", "v1", "coordination.k8s.io", true},
    {"poddisruptionbudgets", "PodDisruptionBudget", "pdb", "v1", "policy",
     true},
    {"roles", "Role", "", "v1", "rbac.authorization.k8s.io", true},
    {"rolebindings", "RoleBinding", "", "v1", "rbac.authorization.k8s.io",
     true},
    {"clusterroles", "ClusterRole", "", "v1", "rbac.authorization.k8s.io",
     false},
    {"clusterrolebindings", "ClusterRoleBinding", "", "v1",
     "rbac.authorization.k8s.io", false},
    {"storageclasses", "StorageClass", "sc", "v1", "storage.k8s.io", false},
    {"volumeattachments", "VolumeAttachment", "", "v1", "storage.k8s.io",
     false},
    {"csidrivers", "CSIDriver", "", "v1", "storage.k8s.io", false},
    {"csinodes", "CSINode", "", "v1", "storage.k8s.io", false},
    {"csistoragecapacities", "CSIStorageCapacity", "", "v1", "storage.k8s.io",
     true},
    {"volumeattributesclasses", "VolumeAttributesClass", "vac", "v1",
     "storage.k8s.io", false},
    {"priorityclasses", "PriorityClass", "pc", "v1", "scheduling.k8s.io",
     false},
    {"runtimeclasses", "RuntimeClass", "", "v1", "node.k8s.io", false},
    {"customresourcedefinitions", "CustomResourceDefinition", "crd,crds", "v1",
     "apiextensions.k8s.io", false},
    {"apiservices", "APIService", "", "v1", "apiregistration.k8s.io", false},
    {"mutatingwebhookconfigurations", "MutatingWebhookConfiguration", "", "v1",
     "admissionregistration.k8s.io", false},
    {"validatingwebhookconfigurations", "ValidatingWebhookConfiguration", "",
     "v1", "admissionregistration.k8s.io", false},
    {"mutatingadmissionpolicies", "MutatingAdmissionPolicy", "", "v1",
     "admissionregistration.k8s.io", false},
    {"mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding", "",
     "v1", "admissionregistration.k8s.io", false},
    {"validatingadmissionpolicies", "ValidatingAdmissionPolicy", "", "v1",
     "admissionregistration.k8s.io", false},
    {"validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding",
     "", "v1", "admissionregistration.k8s.io", false},
    {"certificatesigningrequests", "CertificateSigningRequest", "csr", "v1",
     "certificates.k8s.io", false},
    {"flowschemas", "FlowSchema", "", "v1", "flowcontrol.apiserver.k8s.io",
     false},
    {"prioritylevelconfigurations", "PriorityLevelConfiguration", "", "v1",
     "flowcontrol.apiserver.k8s.io", false},
    {"resourceclaims", "ResourceClaim", "", "v1", "resource.k8s.io", true},
    {"resourceclaimtemplates", "ResourceClaimTemplate", "", "v1",
     "resource.k8s.io", true},
    {"resourceslices", "ResourceSlice", "", "v1", "resource.k8s.io", false},
    {"deviceclasses", "DeviceClass", "", "v1", "resource.k8s.io", false},
};

enum { NAME_SIZE = 128 };

/* One of "crd,crds"; any case. */
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

/* Plural, kind (which is the singular, in capitals) or short name; any case,
 * as for kubectl. */
static bool is_called(const kl__builtin *entry, const char *name)
{
    return strcasecmp(entry->plural, name) == 0 ||
           strcasecmp(entry->kind, name) == 0 ||
           is_short_name(entry->short_names, name);
}

/* "v1" or "apps/v1". */
static bool is_api_version(const kl__builtin *entry, const char *text)
{
    char own[NAME_SIZE];

    snprintf(own, sizeof(own), "%s%s%s", entry->group,
             entry->group[0] != '\0' ? "/" : "", entry->version);
    return strcmp(own, text) == 0;
}

/* "apps" or "v1.apps"; "v1." is the core group. */
static bool is_suffix(const kl__builtin *entry, const char *text)
{
    char own[NAME_SIZE];

    snprintf(own, sizeof(own), "%s.%s", entry->version, entry->group);
    return strcmp(own, text) == 0 ||
           (entry->group[0] != '\0' && strcmp(entry->group, text) == 0);
}

/* The part of a name up to a slash or dot; false: too long for any. */
static bool copy_first(const char *typed, size_t length, char first[NAME_SIZE])
{
    if (length >= NAME_SIZE) {
        return false;
    }
    memcpy(first, typed, length);
    first[length] = '\0';
    return true;
}

const kl__builtin *kl__builtin_find(const char *typed)
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
        const kl__builtin *entry = &builtins[i];
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

const kl__builtin *kl__builtin_at(size_t index)
{
    return index < sizeof(builtins) / sizeof(builtins[0]) ? &builtins[index]
                                                          : NULL;
}
