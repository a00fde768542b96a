/*
 * sim_validate_kinds.c - what cannot change in objects of single kinds, in
 * kube-apiserver's words.
 */
#include "sim/write/sim_kinds_own.h"

#include "base/mem.h"
#include "base/str.h"
#include "sim/vet/sim_vet.h"

#include <string.h>

/* A member that stays as it was made. */
typedef struct immutable_member {
    const char *group;
    const char *plural;
    const char *parent; /* NULL: the object itself */
    const char *name;
    const char *field;
    const char *detail;
} immutable_member;

static const char FIXED[] = "field is immutable";
static const immutable_member immutable[] = {
    {"apps", "deployments", "spec", "selector", "spec.selector", FIXED},
    {"apps", "replicasets", "spec", "selector", "spec.selector", FIXED},
    {"apps", "daemonsets", "spec", "selector", "spec.selector", FIXED},
    {"batch", "jobs", "spec", "completions", "spec.completions", FIXED},
    {"batch", "jobs", "spec", "selector", "spec.selector", FIXED},
    {"batch", "jobs", "spec", "template", "spec.template", FIXED},
    {"batch", "jobs", "spec", "completionMode", "spec.completionMode", FIXED},
    {"", "secrets", NULL, "type", "type", FIXED},
    {"", "resourcequotas", "spec", "scopes", "spec.scopes", FIXED},
    {"storage.k8s.io", "storageclasses", NULL, "provisioner", "provisioner",
     "field is immutable"},
    {"rbac.authorization.k8s.io", "rolebindings", NULL, "roleRef", "roleRef",
     "cannot change roleRef"},
    {"rbac.authorization.k8s.io", "clusterrolebindings", NULL, "roleRef",
     "roleRef", "cannot change roleRef"},
    {"scheduling.k8s.io", "priorityclasses", NULL, "value", "value",
     "may not be changed in an update."}};

static const kl__node *part(const kl__node *root, const char *name)
{
    return name != NULL ? kl__node_get(root, name) : root;
}

static void forbid(kl__sim_write *write, const char *field, const char *detail)
{
    kl__field_add(&write->errors, KL__FIELD_FORBIDDEN, field, NULL, detail);
}

/* A role is shown as Go has it inside, where its members have no JSON names. */
static void refuse_member(kl__sim_write *write, const immutable_member *row,
                          const kl__node *now)
{
    const char *const parts[] = {kl__node_text(now, "apiGroup"),
                                 kl__node_text(now, "kind"),
                                 kl__node_text(now, "name")};
    char *shown;

    if (strcmp(row->field, "roleRef") != 0) {
        kl__field_invalid_node(&write->errors, row->field, now, "%s",
                               row->detail);
        return;
    }
    shown = kl__strprintf(
        "{\"APIGroup\":\"%s\",\"Kind\":\"%s\",\"Name\":\"%s\"}",
        parts[0] != NULL ? parts[0] : "", parts[1] != NULL ? parts[1] : "",
        parts[2] != NULL ? parts[2] : "");
    write->errors.failed |= shown == NULL;
    if (shown != NULL) {
        kl__field_add(&write->errors, KL__FIELD_INVALID, row->field, shown,
                      row->detail);
    }
    kl__free(shown);
}

static void check_members(kl__sim_write *write)
{
    const kl__node *old = kl__sim_write_old(write);
    const kl__node *root = kl__sim_write_root(write);

    for (size_t i = 0; i < sizeof(immutable) / sizeof(immutable[0]); i++) {
        const immutable_member *row = &immutable[i];
        const kl__node *before, *now;

        if (!kl__sim_write_is(write, row->group, row->plural)) {
            continue;
        }
        before = kl__node_get(part(old, row->parent), row->name);
        now = kl__node_get(part(root, row->parent), row->name);
        if (!kl__node_equal(before, now)) {
            refuse_member(write, row, now);
        }
    }
}

/* ConfigMaps and Secrets that say that they do not change. */
static void check_frozen(kl__sim_write *write)
{
    static const char *const members[] = {"data", "binaryData"};
    static const char detail[] = "field is immutable when `immutable` is set";
    const kl__node *old = kl__sim_write_old(write);
    const kl__node *root = kl__sim_write_root(write);

    if ((!kl__sim_write_is(write, "", "configmaps") &&
         !kl__sim_write_is(write, "", "secrets")) ||
        !kl__node_bool(kl__node_get(old, "immutable"))) {
        return;
    }
    if (!kl__node_bool(kl__node_get(root, "immutable"))) {
        forbid(write, "immutable", detail);
    }
    for (size_t i = 0; i < 2; i++) {
        const kl__node *before = kl__node_get(old, members[i]);
        const kl__node *now = kl__node_get(root, members[i]);

        if (kl__node_size(before) + kl__node_size(now) != 0 &&
            !kl__node_equal(before, now)) {
            forbid(write, members[i], detail);
        }
    }
}

static void check_stateful_set(kl__sim_write *write)
{
    static const char *const may[] = {"replicas",
                                      "ordinals",
                                      "template",
                                      "updateStrategy",
                                      "revisionHistoryLimit",
                                      "persistentVolumeClaimRetentionPolicy",
                                      "minReadySeconds",
                                      NULL};

    if (!kl__node_equal_but(part(kl__sim_write_old(write), "spec"),
                            part(kl__sim_write_root(write), "spec"), may)) {
        forbid(write, "spec",
               "updates to statefulset spec for fields other than 'replicas', "
               "'ordinals', 'template', 'updateStrategy', "
               "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' "
               "and 'minReadySeconds' are forbidden");
    }
}

/* Whether two lists of containers differ in more than images. */
static bool containers_differ(const kl__node *before, const kl__node *now)
{
    static const char *const may[] = {"image", NULL};
    kl__node_iter old_iter = {0}, iter = {0};
    const kl__node *container;

    if (kl__node_size(before) != kl__node_size(now)) {
        return true;
    }
    while ((container = kl__node_next(now, &iter, NULL, NULL)) != NULL) {
        if (!kl__node_equal_but(kl__node_next(before, &old_iter, NULL, NULL),
                                container, may)) {
            return true;
        }
    }
    return false;
}

static void check_pod(kl__sim_write *write)
{
    static const char *const may[] = {"containers",
                                      "initContainers",
                                      "activeDeadlineSeconds",
                                      "tolerations",
                                      "terminationGracePeriodSeconds",
                                      NULL};
    static const char *const lists[] = {"containers", "initContainers"};
    const kl__node *old = part(kl__sim_write_old(write), "spec");
    const kl__node *spec = part(kl__sim_write_root(write), "spec");
    bool differs = !kl__node_equal_but(old, spec, may);

    if (*write->subresource != '\0') {
        return;
    }
    for (size_t i = 0; i < 2; i++) {
        differs |= containers_differ(kl__node_get(old, lists[i]),
                                     kl__node_get(spec, lists[i]));
    }
    if (differs) {
        forbid(
            write, "spec",
            "pod updates may not change fields other than "
            "`spec.containers[*].image`,`spec.initContainers[*].image`,"
            "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions "
            "to existing tolerations),`spec.terminationGracePeriodSeconds` "
            "(allow it to be set to 1 if it was previously negative)");
    }
}

/* What a new state has to be. What was wrong before may stay: only a load makes
 * such objects, and who loaded one goes on with it. */
static void check_object(kl__sim_write *write)
{
    const kl__sim_kind *kind = write->kind;
    void (*const vet)(const char *group, const char *plural,
                      const kl__node *object, kl__field_errors *errors) =
        kl__sim_write_is_status(write) ? kl__vet_status : kl__vet_object;
    kl__field_errors now = {0}, before = {0};

    vet(kind->group, kind->plural, kl__sim_write_root(write), &now);
    if (now.count > 0 && write->old != NULL) {
        vet(kind->group, kind->plural, kl__sim_write_old(write), &before);
        kl__field_errors_subtract(&now, &before);
    }
    write->errors.failed |= before.failed;
    kl__field_errors_merge(&write->errors, &now);
    kl__field_errors_deinit(&now);
    kl__field_errors_deinit(&before);
}

void kl__sim_validate_kind(kl__sim_write *write)
{
    if (kl__sim_write_is_custom(write)) {
        return;
    }
    check_object(write);
    if (write->old == NULL) {
        return;
    }
    check_members(write);
    check_frozen(write);
    if (kl__sim_write_is(write, "apps", "statefulsets")) {
        check_stateful_set(write);
    } else if (kl__sim_write_is(write, "", "pods")) {
        check_pod(write);
    }
}
