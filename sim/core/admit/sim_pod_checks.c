/*
 * sim_pod_checks.c - see sim_pod_checks.h and sim_pod_check.h: the table of
 * checks, and what checks share.
 */
#include "sim/core/admit/sim_pod_checks.h"

#include "base/mem.h"
#include "sim/core/admit/sim_pod_check.h"

#include <stdlib.h>
#include <string.h>

/* The minor version of Kubernetes that is simulated; later versions in labels
 * are treated like it. */
enum { THIS_MINOR = 36, NEVER = 1000 };

/* One check. At the restricted level, a stricter check replaces some checks of
 * the baseline level from some version on. */
typedef struct check {
    kl__pod_check_fn look;
    kl__pod_level level;
    int since;
    int replaced_since;
} check;

/* Sorted by their names in kube-apiserver, level by level. */
static const check checks[] = {
    {kl__pod_check_apparmor, KL__POD_BASELINE, 0, NEVER},
    {kl__pod_check_added, KL__POD_BASELINE, 0, 22},
    {kl__pod_check_host_namespaces, KL__POD_BASELINE, 0, NEVER},
    {kl__pod_check_host_paths, KL__POD_BASELINE, 0, 0},
    {kl__pod_check_host_ports, KL__POD_BASELINE, 0, NEVER},
    {kl__pod_check_probes, KL__POD_BASELINE, 34, NEVER},
    {kl__pod_check_privileged, KL__POD_BASELINE, 0, NEVER},
    {kl__pod_check_proc, KL__POD_BASELINE, 0, 35},
    {kl__pod_check_selinux, KL__POD_BASELINE, 0, NEVER},
    {kl__pod_check_seccomp, KL__POD_BASELINE, 0, 19},
    {kl__pod_check_sysctls, KL__POD_BASELINE, 0, NEVER},
    {kl__pod_check_windows, KL__POD_BASELINE, 0, NEVER},
    {kl__pod_check_escalation, KL__POD_RESTRICTED, 8, NEVER},
    {kl__pod_check_dropped, KL__POD_RESTRICTED, 22, NEVER},
    {kl__pod_check_proc_always, KL__POD_RESTRICTED, 35, NEVER},
    {kl__pod_check_volumes, KL__POD_RESTRICTED, 0, NEVER},
    {kl__pod_check_root, KL__POD_RESTRICTED, 0, NEVER},
    {kl__pod_check_user, KL__POD_RESTRICTED, 23, NEVER},
    {kl__pod_check_seccomp_set, KL__POD_RESTRICTED, 19, NEVER},
};

void kl__pod_check(const kl__node *pod, kl__pod_policy policy,
                   kl__edit *scratch, kl__buf *reasons, kl__buf *details)
{
    const kl__node *spec = kl__node_get(pod, "spec");
    kl__pod_look look = {
        .metadata = kl__node_get(pod, "metadata"),
        .spec = spec,
        .security = kl__node_get(spec, "securityContext"),
        .minor = policy.minor < THIS_MINOR ? policy.minor : THIS_MINOR,
        .scratch = scratch,
        .reasons = reasons,
        .details = details,
    };

    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        const check *self = &checks[i];

        if (self->level <= policy.level && self->since <= look.minor &&
            (policy.level < KL__POD_RESTRICTED ||
             look.minor < self->replaced_since)) {
            self->look(&look);
        }
    }
    details->failed = details->failed || look.failed;
}

/* --- Names. --------------------------------------------------------------- */

void kl__pod_name_add(kl__pod_look *look, kl__pod_names *names,
                      const char *name)
{
    if (names->count == names->capacity) {
        size_t capacity = names->capacity != 0 ? names->capacity * 2 : 8;
        const char **items =
            kl__realloc(names->items, capacity * sizeof(*items));

        if (items == NULL) {
            look->failed = true;
            return;
        }
        names->items = items;
        names->capacity = capacity;
    }
    names->items[names->count++] = name != NULL ? name : "";
}

void kl__pod_text_add(kl__pod_look *look, kl__pod_names *names,
                      const kl__node *text)
{
    if (text == NULL) {
        look->failed = true;
        return;
    }
    kl__pod_name_add(look, names, kl__node_string(text, NULL));
}

void kl__pod_names_free(kl__pod_names *names)
{
    kl__free(names->items);
}

static int compare_pod_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void kl__pod_names_sort(kl__pod_names *names)
{
    size_t kept = 0;

    if (names->count == 0) {
        return;
    }
    qsort(names->items, names->count, sizeof(*names->items), compare_pod_names);
    for (size_t i = 1; i < names->count; i++) {
        if (strcmp(names->items[i], names->items[kept]) != 0) {
            names->items[++kept] = names->items[i];
        }
    }
    names->count = kept + 1;
}

void kl__pod_names_put(kl__buf *out, const kl__pod_names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        kl__buf_puts(out, i != 0 ? ", \"" : "\"");
        kl__buf_puts(out, names->items[i]);
        kl__buf_putc(out, '"');
    }
}

const char *kl__pod_plural(size_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

/* --- Containers, and those at fault. -------------------------------------- */

const kl__node *kl__pod_next(const kl__pod_look *look, kl__pod_containers *at)
{
    static const char *const lists[] = {"initContainers", "containers",
                                        "ephemeralContainers"};
    const kl__node *container = NULL;

    while (container == NULL && at->list < 3) {
        container = kl__node_next(kl__node_get(look->spec, lists[at->list]),
                                  &at->iter, NULL, NULL);
        if (container == NULL) {
            at->list++;
            at->iter = (kl__node_iter){0};
        }
    }
    return container;
}

bool kl__pod_find(kl__pod_look *look, kl__pod_test test, bool pod_too,
                  kl__pod_culprits *out)
{
    kl__pod_containers at = {0};
    const kl__node *container;

    *out = (kl__pod_culprits){0};
    out->pod = pod_too && test(look, look->security, NULL, &out->values);
    while ((container = kl__pod_next(look, &at)) != NULL) {
        if (test(look, kl__node_get(container, "securityContext"), container,
                 &out->values)) {
            kl__pod_name_add(look, &out->containers,
                             kl__node_text(container, "name"));
        }
    }
    kl__pod_names_sort(&out->values);
    return out->pod || out->containers.count != 0;
}

void kl__pod_culprits_free(kl__pod_culprits *culprits)
{
    kl__pod_names_free(&culprits->containers);
    kl__pod_names_free(&culprits->values);
}

void kl__pod_culprits_put(kl__buf *out, const kl__pod_culprits *culprits)
{
    size_t count = culprits->containers.count;

    if (culprits->pod) {
        kl__buf_puts(out, count != 0 ? "pod and " : "pod");
    }
    if (count != 0) {
        kl__buf_printf(out, "%s ",
                       kl__pod_plural(count, "container", "containers"));
        kl__pod_names_put(out, &culprits->containers);
    }
}

void kl__pod_forbid(kl__pod_look *look, const char *reason, kl__buf *detail)
{
    look->failed = look->failed || detail->failed;
    if (detail->length == 0) {
        return;
    }
    kl__buf_printf(look->reasons, "%s%s",
                   look->reasons->length != 0 ? ", " : "", reason);
    kl__buf_printf(look->details, "%s%s (",
                   look->details->length != 0 ? ", " : "", reason);
    kl__buf_append(look->details, detail->bytes, detail->length);
    kl__buf_putc(look->details, ')');
    kl__buf_deinit(detail);
}

bool kl__pod_has_own_users(const kl__pod_look *look)
{
    const kl__node *host_users = kl__node_get(look->spec, "hostUsers");

    return kl__node_is(host_users, KL_BOOL) && !kl__node_bool(host_users);
}
