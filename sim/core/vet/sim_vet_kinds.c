/*
 * sim_vet_kinds.c - see sim_vet.h: the table of kinds and their checks.
 */
#include "sim/core/vet/sim_vet.h"

#include <string.h>

typedef struct vetted {
    const char *plural;
    const char *group;
    kl__vet_kind *check;
} vetted;

static const vetted kinds[] = {
    {"configmaps", "", kl__vet_config_map},
    {"pods", "", kl__vet_pod},
    {"secrets", "", kl__vet_secret},
    {"services", "", kl__vet_service},
    {"events", "", kl__vet_event},
    {"events", "events.k8s.io", kl__vet_group_event},
    {"persistentvolumeclaims", "", kl__vet_claim},
    {"deployments", "apps", kl__vet_deployment},
    {"replicasets", "apps", kl__vet_replica_set},
    {"daemonsets", "apps", kl__vet_daemon_set},
    {"statefulsets", "apps", kl__vet_stateful_set},
    {"jobs", "batch", kl__vet_job},
    {"cronjobs", "batch", kl__vet_cron_job},
    {"leases", "coordination.k8s.io", kl__vet_lease},
    {"endpointslices", "discovery.k8s.io", kl__vet_slice},
    {"ingresses", "networking.k8s.io", kl__vet_ingress},
    {"poddisruptionbudgets", "policy", kl__vet_budget},
    {"roles", "rbac.authorization.k8s.io", kl__vet_role},
    {"clusterroles", "rbac.authorization.k8s.io", kl__vet_cluster_role},
    {"rolebindings", "rbac.authorization.k8s.io", kl__vet_role_binding},
    {"clusterrolebindings", "rbac.authorization.k8s.io",
     kl__vet_cluster_role_binding},
    {"horizontalpodautoscalers", "autoscaling", kl__vet_autoscaler}};

static kl__vet_kind *find_check(const char *group, const char *plural)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kinds[i].plural, plural) == 0 &&
            strcmp(kinds[i].group, group) == 0) {
            return kinds[i].check;
        }
    }
    return NULL;
}

void kl__vet_object(const char *group, const char *plural,
                    const kl__node *object, kl__field_errors *errors)
{
    kl__vet_kind *check = find_check(group, plural);
    kl__vet vet = {errors, {0}};

    if (check != NULL) {
        check(&vet, object);
    }
    errors->failed |= vet.path.failed;
    kl__buf_deinit(&vet.path);
}
