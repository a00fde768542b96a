/*
 * sim_vet_kinds.c - see sim_vet.h: the table of kinds and their checks.
 */
#include "sim/core/vet/sim_vet.h"

#include <string.h>

typedef struct vetted {
    const char *plural;
    const char *group;
    kl__vet_kind *check;
    kl__vet_kind *status; /* NULL: nothing is checked */
} vetted;

static const vetted kinds[] = {
    {"configmaps", "", kl__vet_config_map, NULL},
    {"pods", "", kl__vet_pod, NULL},
    {"secrets", "", kl__vet_secret, NULL},
    {"services", "", kl__vet_service, kl__vet_service_status},
    {"events", "", kl__vet_event, NULL},
    {"events", "events.k8s.io", kl__vet_group_event, NULL},
    {"persistentvolumeclaims", "", kl__vet_claim, NULL},
    {"podtemplates", "", kl__vet_pod_template, NULL},
    {"namespaces", "", NULL, kl__vet_namespace_status},
    {"replicationcontrollers", "", NULL, kl__vet_controller_status},
    {"deployments", "apps", kl__vet_deployment, kl__vet_deployment_status},
    {"replicasets", "apps", kl__vet_replica_set, kl__vet_replica_set_status},
    {"daemonsets", "apps", kl__vet_daemon_set, kl__vet_daemon_set_status},
    {"statefulsets", "apps", kl__vet_stateful_set, kl__vet_stateful_set_status},
    {"jobs", "batch", kl__vet_job, NULL},
    {"cronjobs", "batch", kl__vet_cron_job, NULL},
    {"leases", "coordination.k8s.io", kl__vet_lease, NULL},
    {"endpointslices", "discovery.k8s.io", kl__vet_slice, NULL},
    {"ingresses", "networking.k8s.io", kl__vet_ingress, NULL},
    {"poddisruptionbudgets", "policy", kl__vet_budget, kl__vet_budget_status},
    {"roles", "rbac.authorization.k8s.io", kl__vet_role, NULL},
    {"clusterroles", "rbac.authorization.k8s.io", kl__vet_cluster_role, NULL},
    {"rolebindings", "rbac.authorization.k8s.io", kl__vet_role_binding, NULL},
    {"clusterrolebindings", "rbac.authorization.k8s.io",
     kl__vet_cluster_role_binding, NULL},
    {"horizontalpodautoscalers", "autoscaling", kl__vet_autoscaler,
     kl__vet_autoscaler_status},
    {"priorityclasses", "scheduling.k8s.io", kl__vet_priority_class, NULL},
    {"runtimeclasses", "node.k8s.io", kl__vet_runtime_class, NULL},
    {"endpoints", "", kl__vet_endpoints, NULL},
    {"networkpolicies", "networking.k8s.io", kl__vet_network_policy, NULL},
    {"ingressclasses", "networking.k8s.io", kl__vet_ingress_class, NULL},
    {"persistentvolumes", "", kl__vet_volume, NULL},
    {"storageclasses", "storage.k8s.io", kl__vet_storage_class, NULL}};

static const vetted *find_vetted(const char *group, const char *plural)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kinds[i].plural, plural) == 0 &&
            strcmp(kinds[i].group, group) == 0) {
            return &kinds[i];
        }
    }
    return NULL;
}

static void run_vet(kl__vet_kind *check, const kl__node *object,
                    kl__field_errors *errors)
{
    kl__vet vet = {errors, {0}};

    if (check != NULL) {
        check(&vet, object);
    }
    errors->failed |= vet.path.failed;
    kl__buf_deinit(&vet.path);
}

void kl__vet_object(const char *group, const char *plural,
                    const kl__node *object, kl__field_errors *errors)
{
    const vetted *kind = find_vetted(group, plural);

    run_vet(kind != NULL ? kind->check : NULL, object, errors);
}

void kl__vet_status(const char *group, const char *plural,
                    const kl__node *object, kl__field_errors *errors)
{
    const vetted *kind = find_vetted(group, plural);

    run_vet(kind != NULL ? kind->status : NULL, object, errors);
}
