/*
 * builtin_names.c - see builtin_names.h. Names, short names and versions as
 * `kubectl api-resources` of Kubernetes 1.36 lists them. A name that is missing
 * here costs a second informer until discovery knows it, nothing else.
 */
#include "informer/builtin_names.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

typedef struct builtin {
    const char *plural;
    const char *kind;
    const char *short_name; /* "" where there is none */
    const char *version;
    const char *group;
} builtin;

/* Where two groups have a name, a bare name means the first, as for kubectl. */
static const builtin builtins[] = {
    {"pods", "Pod", "po", "v1", ""},
    {"services", "Service", "svc", "v1", ""},
    {"nodes", "Node", "no", "v1", ""},
    {"namespaces", "Namespace", "ns", "v1", ""},
    {"configmaps", "ConfigMap", "cm", "v1", ""},
    {"secrets", "Secret", "", "v1", ""},
    {"endpoints", "Endpoints", "ep", "v1", ""},
    {"events", "Event", "ev", "v1", ""},
    {"serviceaccounts", "ServiceAccount", "sa", "v1", ""},
    {"persistentvolumes", "PersistentVolume", "pv", "v1", ""},
    {"persistentvolumeclaims", "PersistentVolumeClaim", "pvc", "v1", ""},
    {"replicationcontrollers", "ReplicationController", "rc", "v1", ""},
    {"resourcequotas", "ResourceQuota", "quota", "v1", ""},
    {"limitranges", "LimitRange", "limits", "v1", ""},
    {"podtemplates", "PodTemplate", "", "v1", ""},
    {"deployments", "Deployment", "deploy", "v1", "apps"},
    {"replicasets", "ReplicaSet", "rs", "v1", "apps"},
    {"statefulsets", "StatefulSet", "sts", "v1", "apps"},
    {"daemonsets", "DaemonSet", "ds", "v1", "apps"},
    {"controllerrevisions", "ControllerRevision", "", "v1", "apps"},
    {"jobs", "Job", "", "v1", "batch"},
    {"cronjobs", "CronJob", "cj", "v1", "batch"},
    {"horizontalpodautoscalers", "HorizontalPodAutoscaler", "hpa", "v2",
     "autoscaling"},
    {"ingresses", "Ingress", "ing", "v1", "networking.k8s.io"},
    {"ingressclasses", "IngressClass", "", "v1", "networking.k8s.io"},
    {"networkpolicies", "NetworkPolicy", "netpol", "v1", "networking.k8s.io"},
    {"endpointslices", "EndpointSlice", "", "v1", "discovery.k8s.io"},
    {"events", "Event", "ev", "v1", "events.k8s.io"},
    {"leases", "Lease", "", "v1", "coordination.k8s.io"},
    {"poddisruptionbudgets", "PodDisruptionBudget", "pdb", "v1", "policy"},
    {"roles", "Role", "", "v1", "rbac.authorization.k8s.io"},
    {"rolebindings", "RoleBinding", "", "v1", "rbac.authorization.k8s.io"},
    {"clusterroles", "ClusterRole", "", "v1", "rbac.authorization.k8s.io"},
    {"clusterrolebindings", "ClusterRoleBinding", "", "v1",
     "rbac.authorization.k8s.io"},
    {"storageclasses", "StorageClass", "sc", "v1", "storage.k8s.io"},
    {"volumeattachments", "VolumeAttachment", "", "v1", "storage.k8s.io"},
    {"csidrivers", "CSIDriver", "", "v1", "storage.k8s.io"},
    {"csinodes", "CSINode", "", "v1", "storage.k8s.io"},
    {"csistoragecapacities", "CSIStorageCapacity", "", "v1", "storage.k8s.io"},
    {"priorityclasses", "PriorityClass", "pc", "v1", "scheduling.k8s.io"},
    {"runtimeclasses", "RuntimeClass", "", "v1", "node.k8s.io"},
    {"customresourcedefinitions", "CustomResourceDefinition", "crd", "v1",
     "apiextensions.k8s.io"},
    {"apiservices", "APIService", "", "v1", "apiregistration.k8s.io"},
    {"mutatingwebhookconfigurations", "MutatingWebhookConfiguration", "", "v1",
     "admissionregistration.k8s.io"},
    {"validatingwebhookconfigurations", "ValidatingWebhookConfiguration", "",
     "v1", "admissionregistration.k8s.io"},
    {"certificatesigningrequests", "CertificateSigningRequest", "csr", "v1",
     "certificates.k8s.io"},
};

enum { NAME_SIZE = 128 };

/* Plural, kind (which is the singular, in capitals) or short name; any case,
 * as for kubectl. */
static bool is_called(const builtin *entry, const char *name)
{
    return strcasecmp(entry->plural, name) == 0 ||
           strcasecmp(entry->kind, name) == 0 ||
           (entry->short_name[0] != '\0' &&
            strcasecmp(entry->short_name, name) == 0);
}

/* "v1" or "apps/v1". */
static bool is_api_version(const builtin *entry, const char *text)
{
    char own[NAME_SIZE];

    snprintf(own, sizeof(own), "%s%s%s", entry->group,
             entry->group[0] != '\0' ? "/" : "", entry->version);
    return strcmp(own, text) == 0;
}

/* "apps" or "v1.apps"; "v1." is the core group. */
static bool is_suffix(const builtin *entry, const char *text)
{
    char own[NAME_SIZE];

    snprintf(own, sizeof(own), "%s.%s", entry->version, entry->group);
    return strcmp(own, text) == 0 ||
           (entry->group[0] != '\0' && strcmp(entry->group, text) == 0);
}

bool kl__builtin_name(const char *typed, kl__buf *out)
{
    const char *slash = strrchr(typed, '/');
    const char *dot = strchr(typed, '.');
    char first[NAME_SIZE];
    size_t length = slash != NULL ? (size_t)(slash - typed)
                    : dot != NULL ? (size_t)(dot - typed)
                                  : strlen(typed);

    if (length >= sizeof(first)) {
        return false;
    }
    memcpy(first, typed, length);
    first[length] = '\0';
    for (size_t i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++) {
        const builtin *entry = &builtins[i];
        bool meant;

        if (slash != NULL) {
            meant = is_api_version(entry, first) && is_called(entry, slash + 1);
        } else {
            meant = is_called(entry, first) &&
                    (dot == NULL || is_suffix(entry, dot + 1));
        }
        if (meant) {
            kl__buf_printf(out, "%s.%s.%s", entry->plural, entry->version,
                           entry->group);
            return true;
        }
    }
    return false;
}
