/*
 * sim_validate_kinds.c - fields of single kinds that cannot be changed, in
 * kube-apiserver's words.
 */
#include "sim/core/write/sim_kinds_own.h"

#include "sim/core/vet/sim_vet.h"

#include <string.h>

typedef struct immutable_member {
    const char *group;
    const char *plural;
    const char *parent; /* the member that has it; NULL: the object itself */
    const char *name;
    const char *field;
} immutable_member;

static const immutable_member immutable[] = {
    {"apps", "deployments", "spec", "selector", "spec.selector"},
    {"apps", "replicasets", "spec", "selector", "spec.selector"},
    {"apps", "daemonsets", "spec", "selector", "spec.selector"},
    {"batch", "jobs", "spec", "completions", "spec.completions"},
    {"batch", "jobs", "spec", "selector", "spec.selector"},
    {"batch", "jobs", "spec", "template", "spec.template"},
    {"batch", "jobs", "spec", "completionMode", "spec.completionMode"},
    {"batch", "jobs", "spec", "backoffLimitPerIndex",
     "spec.backoffLimitPerIndex"},
    {"batch", "jobs", "spec", "managedBy", "spec.managedBy"},
    {"", "secrets", NULL, "type", "type"},
    {"discovery.k8s.io", "endpointslices", NULL, "addressType", "addressType"}};

static const kl__node *find_part(const kl__node *root, const char *name)
{
    return name != NULL ? kl__node_get(root, name) : root;
}

static void forbid_change(kl__sim_write *write, const char *field,
                          const char *detail)
{
    kl__field_add(&write->errors, KL__FIELD_FORBIDDEN, field, NULL, detail);
}

static void check_member(kl__sim_write *write, const immutable_member *row)
{
    const kl__node *before = kl__node_get(
        find_part(kl__sim_write_old(write), row->parent), row->name);
    const kl__node *now = kl__node_get(
        find_part(kl__sim_write_root(write), row->parent), row->name);

    if (!kl__node_equal(before, now)) {
        kl__field_invalid_node(&write->errors, row->field, now, "%s",
                               "field is immutable");
    }
}

static void check_fixed_members(kl__sim_write *write)
{
    for (size_t i = 0; i < sizeof(immutable) / sizeof(immutable[0]); i++) {
        if (kl__sim_write_is(write, immutable[i].group, immutable[i].plural)) {
            check_member(write, &immutable[i]);
        }
    }
}

/* Refuses a change of roleRef in a binding. */
static void check_role_ref(kl__sim_write *write)
{
    const kl__node *before = kl__node_get(kl__sim_write_old(write), "roleRef");
    const kl__node *now = kl__node_get(kl__sim_write_root(write), "roleRef");

    if (strcmp(write->kind->group, "rbac.authorization.k8s.io") == 0 &&
        !kl__node_equal(before, now)) {
        kl__field_invalid_node(&write->errors, "roleRef", now, "%s",
                               "cannot change roleRef");
    }
}

/* Refuses changes of a claim's spec. A bound claim may change its request for
 * storage and its class of volume attributes. A claim without a volume may get
 * one. */
static void check_claim(kl__sim_write *write)
{
    static const char *const may[] = {"volumeName", "resources",
                                      "volumeAttributesClassName", NULL};
    static const char *const amounts[] = {"storage", NULL};
    const kl__node *old = kl__sim_write_old(write);
    const kl__node *before = kl__node_get(old, "spec");
    const kl__node *now = kl__node_get(kl__sim_write_root(write), "spec");
    const kl__node *was = kl__node_get(before, "resources");
    const kl__node *is = kl__node_get(now, "resources");
    const char *phase = kl__node_text(kl__node_get(old, "status"), "phase");
    bool is_bound = phase != NULL && strcmp(phase, "Bound") == 0;
    bool same =
        kl__node_equal_but(before, now, may) &&
        kl__node_equal(kl__node_get(was, "limits"), kl__node_get(is, "limits"));

    if (kl__node_text(before, "volumeName") != NULL) {
        same = same && kl__node_equal(kl__node_get(before, may[0]),
                                      kl__node_get(now, may[0]));
    }
    same = same &&
           (is_bound ? kl__node_equal_but(kl__node_get(was, "requests"),
                                          kl__node_get(is, "requests"), amounts)
                     : kl__node_equal(kl__node_get(was, "requests"),
                                      kl__node_get(is, "requests")) &&
                           kl__node_equal(kl__node_get(before, may[2]),
                                          kl__node_get(now, may[2])));
    if (!same) {
        forbid_change(
            write, "spec",
            "spec is immutable after creation except resources.requests and "
            "volumeAttributesClassName for bound claims");
    }
}

/* Refuses changes of a ConfigMap or Secret that is marked as immutable. */
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
        forbid_change(write, "immutable", detail);
    }
    for (size_t i = 0; i < 2; i++) {
        const kl__node *before = kl__node_get(old, members[i]);
        const kl__node *now = kl__node_get(root, members[i]);

        if (kl__node_size(before) + kl__node_size(now) != 0 &&
            !kl__node_equal(before, now)) {
            forbid_change(write, members[i], detail);
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

    if (!kl__node_equal_but(find_part(kl__sim_write_old(write), "spec"),
                            find_part(kl__sim_write_root(write), "spec"),
                            may)) {
        forbid_change(
            write, "spec",
            "updates to statefulset spec for fields other than 'replicas', "
            "'ordinals', 'template', 'updateStrategy', "
            "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' "
            "and 'minReadySeconds' are forbidden");
    }
}

/* True if two lists of containers differ in more than their images. */
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
    const kl__node *old = find_part(kl__sim_write_old(write), "spec");
    const kl__node *spec = find_part(kl__sim_write_root(write), "spec");
    bool differs = !kl__node_equal_but(old, spec, may);

    if (*write->subresource != '\0') {
        return;
    }
    for (size_t i = 0; i < 2; i++) {
        differs |= containers_differ(kl__node_get(old, lists[i]),
                                     kl__node_get(spec, lists[i]));
    }
    if (differs) {
        forbid_change(
            write, "spec",
            "pod updates may not change fields other than "
            "`spec.containers[*].image`,`spec.initContainers[*].image`,"
            "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions "
            "to existing tolerations),`spec.terminationGracePeriodSeconds` "
            "(allow it to be set to 1 if it was previously negative)");
    }
}

/* Validates the new object. Errors that the old object has too are left out: a
 * load can store an invalid object, and updates of that object must stay
 * possible. */
static void check_new_state(kl__sim_write *write)
{
    const kl__sim_kind *kind = write->kind;
    kl__field_errors now = {0}, before = {0};

    kl__vet_object(kind->group, kind->plural, kl__sim_write_root(write), &now);
    if (now.count > 0 && write->old != NULL) {
        kl__vet_object(kind->group, kind->plural, kl__sim_write_old(write),
                       &before);
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
    /* For a DaemonSet, a real server reports changes of fixed members first. */
    if (write->old != NULL && kl__sim_write_is(write, "apps", "daemonsets")) {
        check_fixed_members(write);
    }
    if (!kl__sim_write_is_status(write)) {
        check_new_state(write);
    }
    if (write->old == NULL) {
        return;
    }
    if (!kl__sim_write_is(write, "apps", "daemonsets")) {
        check_fixed_members(write);
    }
    check_role_ref(write);
    check_frozen(write);
    if (kl__sim_write_is(write, "apps", "statefulsets")) {
        check_stateful_set(write);
    } else if (kl__sim_write_is(write, "", "pods")) {
        check_pod(write);
    } else if (kl__sim_write_is(write, "", "persistentvolumeclaims")) {
        check_claim(write);
    }
}
