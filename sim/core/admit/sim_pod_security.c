/*
 * sim_pod_security.c - the plugin PodSecurity
 * (docs/KUBERNETES.md#pod-security): in a namespace with a Pod Security
 * Standard, pods that violate it are refused; for an object that would create
 * such pods (a Deployment), the answer has a warning.
 */
#include "sim/core/admit/sim_admit.h"

#include "base/mem.h"
#include "base/str.h"
#include "sim/core/admit/sim_pod_checks.h"
#include "sim/core/store/sim_compose.h"
#include "sim/core/write/sim_kinds_own.h"

#include <stdlib.h>
#include <string.h>

/* When a namespace gets stricter, a real server checks no more existing pods
 * than this. */
enum { MOST_PODS = 3000 };

static const kl__node *labels_of(const kl__node *object)
{
    return kl__node_get(kl__node_get(object, "metadata"), "labels");
}

/* --- Pods, and objects with pod templates. -------------------------------- */

/* The part of an object that is a pod or a pod template; NULL: none. */
static const kl__node *pod_of(const kl__sim_write *write)
{
    static const struct {
        const char *group, *plural;
        const char *path[4];
    } kinds[] = {
        {"", "replicationcontrollers", {"spec", "template"}},
        {"", "podtemplates", {"template"}},
        {"apps", "replicasets", {"spec", "template"}},
        {"apps", "deployments", {"spec", "template"}},
        {"apps", "statefulsets", {"spec", "template"}},
        {"apps", "daemonsets", {"spec", "template"}},
        {"batch", "jobs", {"spec", "template"}},
        {"batch", "cronjobs", {"spec", "jobTemplate", "spec", "template"}},
    };
    const kl__node *found = kl__sim_write_root(write);

    if (kl__sim_write_is(write, "", "pods")) {
        return found;
    }
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (kl__sim_write_is(write, kinds[i].group, kinds[i].plural)) {
            for (size_t k = 0; k < 4 && kinds[i].path[k] != NULL; k++) {
                found = kl__node_get(found, kinds[i].path[k]);
            }
            return kl__node_is(found, KL_OBJECT) ? found : NULL;
        }
    }
    return NULL;
}

static const char *image_of(const kl__node *container)
{
    const char *image = kl__node_text(container, "image");

    return image != NULL ? image : "";
}

/* True if containers were added or removed, or have another image. */
static bool lists_differ(const kl__node *a, const kl__node *b)
{
    kl__node_iter in_a = {0}, in_b = {0};
    const kl__node *one, *other;

    if (kl__node_size(a) != kl__node_size(b)) {
        return true;
    }
    while ((one = kl__node_next(a, &in_a, NULL, NULL)) != NULL &&
           (other = kl__node_next(b, &in_b, NULL, NULL)) != NULL) {
        if (strcmp(image_of(one), image_of(other)) != 0) {
            return true;
        }
    }
    return false;
}

/* True if an update changes something that the standards look at. */
static bool is_significant(const kl__sim_write *write)
{
    static const char *const lists[] = {"containers", "initContainers",
                                        "ephemeralContainers"};
    const kl__node *spec = kl__node_get(kl__sim_write_root(write), "spec");
    const kl__node *old = kl__node_get(kl__sim_write_old(write), "spec");
    bool significant = false;

    for (size_t i = 0; i < 3; i++) {
        significant |= lists_differ(kl__node_get(spec, lists[i]),
                                    kl__node_get(old, lists[i]));
    }
    return significant;
}

/* True if the standards apply to the write. */
static bool concerns_pod_security(const kl__sim_write *write, bool is_pod)
{
    const char *sub = write->subresource;

    if (!is_pod) {
        return *sub == '\0';
    }
    return (*sub == '\0' || strcmp(sub, "ephemeralcontainers") == 0 ||
            strcmp(sub, "resize") == 0) &&
           (write->old == NULL || is_significant(write));
}

/* Reads the policies of the write's namespace. */
static kl_code read_policies(const kl__sim_write *write, kl__pod_policies *out,
                             kl_error *err)
{
    const kl__sim_resource *namespaces =
        kl__sim_find(write->answer->sim, "", "namespaces");
    const kl__sim_node *node = kl__sim_tree_find(
        &namespaces->items, write->answer->ask.route.name_space);
    kl__field_errors errors = {0};
    kl__edit *edit;

    *out = kl__pod_policies_of(NULL, &errors);
    if (node == NULL) {
        return KL_OK;
    }
    edit = kl__sim_state_edit(node->state, err);
    if (edit == NULL) {
        return KL_ENOMEM;
    }
    *out = kl__pod_policies_of(labels_of(kl__edit_root(edit)), &errors);
    kl__field_errors_deinit(&errors);
    kl__edit_free(edit);
    return KL_OK;
}

/* Appends `PREFIX PodSecurity "restricted:latest": WHAT`; nothing if the policy
 * allows the pod. */
static void judge_pod(kl__sim_write *write, const kl__node *pod,
                      kl__pod_policy policy, const char *prefix, kl__buf *out)
{
    kl__buf reasons = {0}, details = {0};

    kl__pod_check(pod, policy, write->edit, &reasons, &details);
    if (details.length != 0) {
        kl__buf_printf(out, "%s PodSecurity \"", prefix);
        kl__pod_policy_put(out, policy);
        kl__buf_puts(out, "\": ");
        kl__buf_puts(out, details.bytes);
    }
    out->failed = out->failed || details.failed || reasons.failed;
    kl__buf_deinit(&reasons);
    kl__buf_deinit(&details);
}

static kl_code look_at_pod(kl__sim_write *write, const kl__node *pod,
                           bool is_pod, kl_error *err)
{
    kl__pod_policies policies;
    kl__buf why = {0};
    kl_code code = read_policies(write, &policies, err);

    if (code == KL_OK && is_pod) {
        judge_pod(write, pod, policies.enforce, "violates", &why);
        if (!why.failed && why.length != 0) {
            code = kl__sim_admit_forbid(write, why.bytes, err);
        }
    }
    if (code == KL_OK && kl__sim_write_goes_on(write)) {
        judge_pod(write, pod, policies.warn, "would violate", &why);
        if (!why.failed && why.length != 0) {
            code = kl__sim_warn(write->answer, why.bytes, err);
        }
    }
    if (why.failed) {
        code = kl__sim_no_memory(err);
    }
    kl__buf_deinit(&why);
    return code;
}

/* --- Namespaces. ---------------------------------------------------------- */

/* Pods that violate a policy in the same way. */
typedef struct violation {
    char *reasons; /* owned */
    char *first;   /* owned: the name of the first pod */
    size_t pods;
} violation;

typedef struct survey {
    violation *items;
    size_t count;
} survey;

static void end_survey(survey *self)
{
    for (size_t i = 0; i < self->count; i++) {
        kl__free(self->items[i].reasons);
        kl__free(self->items[i].first);
    }
    kl__free(self->items);
}

/* Counts one pod. The caller passes the pods in the order of their names, so
 * the first of each violation is the first by name. False: out of memory. */
static bool count_pod(survey *self, const char *reasons, const char *name)
{
    violation *items;

    for (size_t i = 0; i < self->count; i++) {
        if (strcmp(self->items[i].reasons, reasons) == 0) {
            self->items[i].pods++;
            return true;
        }
    }
    items = kl__realloc(self->items, (self->count + 1) * sizeof(*items));
    if (items == NULL) {
        return false;
    }
    self->items = items;
    items[self->count] = (violation){kl__strdup(reasons), kl__strdup(name), 1};
    self->count++;
    return items[self->count - 1].reasons != NULL &&
           items[self->count - 1].first != NULL;
}

static kl_code survey_pod(survey *self, const kl__sim_state *state,
                          kl__pod_policy policy, kl_error *err)
{
    kl__edit *edit = kl__sim_state_edit(state, err);
    kl__buf reasons = {0}, details = {0};
    bool done;

    if (edit == NULL) {
        return KL_ENOMEM;
    }
    kl__pod_check(kl__edit_root(edit), policy, edit, &reasons, &details);
    done = !reasons.failed && !details.failed &&
           (reasons.length == 0 || count_pod(self, reasons.bytes, state->name));
    kl__buf_deinit(&reasons);
    kl__buf_deinit(&details);
    kl__edit_free(edit);
    return done ? KL_OK : kl__sim_no_memory(err);
}

/* "web (and 2 other pods): privileged". Owned by the caller. */
static char *describe_violation(const violation *item)
{
    kl__buf line = {0};

    kl__buf_puts(&line, item->first);
    if (item->pods > 1) {
        kl__buf_printf(&line, " (and %zu other pod%s)", item->pods - 1,
                       item->pods > 2 ? "s" : "");
    }
    kl__buf_puts(&line, ": ");
    kl__buf_puts(&line, item->reasons);
    return kl__buf_take(&line, NULL);
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(((const violation *)a)->reasons,
                  ((const violation *)b)->reasons);
}

static kl_code warn_of(kl__sim_write *write, survey *self,
                       kl__pod_policy policy, kl_error *err)
{
    kl__buf first = {0};
    kl_code code = KL_OK;

    kl__buf_printf(&first,
                   "existing pods in namespace \"%s\" violate the new "
                   "PodSecurity enforce level \"",
                   kl__node_text(kl__sim_write_metadata(write), "name"));
    kl__pod_policy_put(&first, policy);
    kl__buf_putc(&first, '"');
    code = first.failed ? kl__sim_no_memory(err)
                        : kl__sim_warn(write->answer, first.bytes, err);
    kl__buf_deinit(&first);
    for (size_t i = 0; i < self->count && code == KL_OK; i++) {
        char *line = describe_violation(&self->items[i]);

        kl__free(self->items[i].reasons);
        self->items[i].reasons = line;
        code = line != NULL ? KL_OK : kl__sim_no_memory(err);
    }
    if (code == KL_OK) {
        qsort(self->items, self->count, sizeof(*self->items), compare_lines);
    }
    for (size_t i = 0; i < self->count && code == KL_OK; i++) {
        code = kl__sim_warn(write->answer, self->items[i].reasons, err);
    }
    return code;
}

/* Warns of existing pods that the new labels would refuse. */
static kl_code look_at_all(kl__sim_write *write, kl__pod_policy policy,
                           kl_error *err)
{
    const char *name = kl__node_text(kl__sim_write_metadata(write), "name");
    const kl__sim_tree *pods =
        &kl__sim_find(write->answer->sim, "", "pods")->items;
    const kl__sim_node *node = kl__sim_tree_first_in(pods, name);
    survey self = {0};
    size_t seen = 0;
    kl_code code = KL_OK;

    for (; node != NULL && code == KL_OK; seen++) {
        if (seen < MOST_PODS) {
            code = survey_pod(&self, node->state, policy, err);
        }
        node = kl__sim_tree_next_in(node, name);
    }
    if (code == KL_OK && seen > MOST_PODS) {
        code = kl__sim_warnf(write->answer, err,
                             "new PodSecurity enforce level only checked "
                             "against the first %d of %zu existing pods",
                             MOST_PODS, seen);
    }
    if (code == KL_OK && self.count != 0) {
        code = warn_of(write, &self, policy, err);
    }
    end_survey(&self);
    return code;
}

static bool are_equal(const kl__field_errors *a, const kl__field_errors *b)
{
    bool equal = a->count == b->count;

    for (size_t i = 0; i < a->count && equal; i++) {
        equal = strcmp(a->items[i].field, b->items[i].field) == 0 &&
                strcmp(a->items[i].message, b->items[i].message) == 0;
    }
    return equal;
}

static kl_code refuse_labels(kl__sim_write *write,
                             const kl__field_errors *errors, kl_error *err)
{
    kl__sim_status status = {
        .kind = write->kind->kind,
        .name = kl__node_text(kl__sim_write_metadata(write), "name"),
        .errors = errors,
    };

    return kl__sim_refuse_invalid(write->answer, &status, write->kind->kind,
                                  err);
}

static kl_code look_at_namespace(kl__sim_write *write, kl_error *err)
{
    kl__field_errors errors = {0}, before = {0};
    kl__pod_policy now =
        kl__pod_policies_of(labels_of(kl__sim_write_root(write)), &errors)
            .enforce;
    kl__pod_policy then =
        kl__pod_policies_of(labels_of(kl__sim_write_old(write)), &before)
            .enforce;
    bool is_relaxed = now.level == KL__POD_PRIVILEGED ||
                      (now.minor == then.minor && now.level <= then.level);
    kl_code code = KL_OK;

    if (errors.failed || before.failed) {
        code = kl__sim_no_memory(err);
    } else if (errors.count != 0 &&
               (write->old == NULL || !are_equal(&errors, &before))) {
        code = refuse_labels(write, &errors, err);
    } else if (write->old != NULL && !is_relaxed &&
               !kl__pod_policy_equal(now, then)) {
        code = look_at_all(write, now, err);
    }
    kl__field_errors_deinit(&errors);
    kl__field_errors_deinit(&before);
    return code;
}

kl_code kl__sim_admit_pod_security(kl__sim_write *write, kl_error *err)
{
    bool is_pod = kl__sim_write_is(write, "", "pods");
    const kl__node *pod;

    if (write->answer->loading || kl__sim_write_is_custom(write)) {
        return KL_OK;
    }
    if (kl__sim_write_is(write, "", "namespaces")) {
        return *write->subresource == '\0' ? look_at_namespace(write, err)
                                           : KL_OK;
    }
    pod = pod_of(write);
    return pod != NULL && concerns_pod_security(write, is_pod)
               ? look_at_pod(write, pod, is_pod, err)
               : KL_OK;
}
