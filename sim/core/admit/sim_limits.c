/*
 * sim_limits.c - the plugin LimitRanger: the LimitRanges of a namespace say how
 * much cpu, memory and storage a container, pod or claim may ask for. This sets
 * their defaults in containers, and refuses other amounts in kube-apiserver's
 * words.
 */
#include "sim/core/admit/sim_admit.h"

#include "base/mem.h"
#include "base/str.h"
#include "sim/core/schema/quantity.h"
#include "sim/core/schema/amounts.h"
#include "sim/core/store/sim_compose.h"
#include "sim/core/write/sim_kinds_own.h"

#include <stdlib.h>
#include <string.h>

static const char *const container_lists[] = {"containers", "initContainers"};

static kl__node *limited_spec_of(const kl__sim_write *write)
{
    return kl__node_get(kl__sim_write_root(write), "spec");
}

/* True if LimitRanges apply to the write: to new or resized pods, and to
 * claims, but not to objects that are being deleted. */
static bool concerns_limits(const kl__sim_write *write)
{
    bool is_pod = kl__sim_write_is(write, "", "pods");

    if (write->answer->loading ||
        (write->old != NULL && write->old->deleting)) {
        return false;
    }
    if (is_pod && strcmp(write->subresource, "resize") == 0) {
        return true;
    }
    return *write->subresource == '\0' &&
           ((is_pod && write->old == NULL) ||
            kl__sim_write_is(write, "", "persistentvolumeclaims"));
}

/* Calls `fn` with each limit of each LimitRange of the namespace. */
static kl_code each_limit(kl__sim_write *write, void *context,
                          bool (*fn)(void *context, const kl__node *limits),
                          kl_error *err)
{
    const char *name_space = write->answer->ask.route.name_space;
    const kl__sim_tree *ranges =
        &kl__sim_find(write->answer->sim, "", "limitranges")->items;
    const kl__sim_node *node = kl__sim_tree_first_in(ranges, name_space);

    for (; node != NULL; node = kl__sim_tree_next_in(node, name_space)) {
        kl__edit *range = kl__sim_state_edit(node->state, err);
        bool done =
            range != NULL &&
            fn(context, kl__node_get(kl__node_get(kl__edit_root(range), "spec"),
                                     "limits"));

        kl__edit_free(range);
        if (!done) {
            return kl__sim_no_memory(err);
        }
    }
    return KL_OK;
}

/* --- Defaults. ------------------------------------------------------------ */

static int compare_set_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Notes what was set, sorted by name: "cpu, memory limit for container x". */
static bool note_set(kl__buf *notes, const kl__node *set, const char *what,
                     const char *whom)
{
    enum { MOST = 32 };
    const char *names[MOST];
    size_t count = 0;
    kl__node_iter iter = {0};

    while (count < MOST &&
           kl__node_next(set, &iter, &names[count], NULL) != NULL) {
        count++;
    }
    qsort(names, count, sizeof(*names), compare_set_texts);
    for (size_t i = 0; i < count; i++) {
        kl__buf_printf(notes, "%s%s",
                       i != 0              ? ", "
                       : notes->length > 0 ? "; "
                                           : "",
                       names[i]);
    }
    if (count != 0) {
        kl__buf_printf(notes, " %s for %s", what, whom);
    }
    return !notes->failed;
}

/* Sets the amounts that a container lacks, and also adds them to `set`. */
static bool fill_amounts(kl__edit *edit, kl__node *container,
                         const char *member, const kl__node *defaults,
                         kl__node *set)
{
    kl__node *resources = kl__node_ensure(edit, container, "resources");
    kl__node *list = resources != NULL && kl__node_size(defaults) != 0
                         ? kl__node_ensure(edit, resources, member)
                         : NULL;
    kl__node_iter iter = {0};
    const kl__node *value;
    const char *name;

    while ((value = kl__node_next(defaults, &iter, &name, NULL)) != NULL) {
        const char *amount = kl__node_string(value, NULL);

        if (list == NULL) {
            return false;
        }
        if (kl__node_get(list, name) == NULL &&
            (!kl__amount_put(edit, list, name, amount) ||
             !kl__amount_put(edit, set, name, amount))) {
            return false;
        }
    }
    return resources != NULL;
}

/* The defaults of one LimitRange, and a record of what they set. */
typedef struct defaulting {
    kl__edit *edit;
    kl__node *root;
} defaulting;

static bool fill_container(kl__edit *edit, kl__node *container,
                           const kl__node *defaults, bool begins,
                           kl__buf *notes)
{
    static const char *const members[] = {"requests", "limits"};
    char *whom = kl__strprintf("%s %s", begins ? "init container" : "container",
                               kl__node_text(container, "name"));
    bool done = whom != NULL;

    for (size_t i = 0; done && i < 2; i++) {
        kl__node *set = kl__edit_object(edit);

        done = set != NULL &&
               fill_amounts(edit, container, members[i],
                            kl__node_get(defaults, members[i]), set) &&
               note_set(notes, set, i == 0 ? "request" : "limit", whom);
    }
    kl__free(whom);
    return done;
}

/* The defaults of all limits for containers, in one list. */
static kl__node *collect_defaults(kl__edit *edit, const kl__node *limits)
{
    kl__node *defaults = kl__edit_object(edit);
    kl__node *requests = kl__node_ensure(edit, defaults, "requests");
    kl__node *most = kl__node_ensure(edit, defaults, "limits");
    kl__node_iter iter = {0};
    const kl__node *limit;

    while ((limit = kl__node_next(limits, &iter, NULL, NULL)) != NULL) {
        const char *type = kl__node_text(limit, "type");
        const kl__node *sides[2] = {kl__node_get(limit, "defaultRequest"),
                                    kl__node_get(limit, "default")};

        for (int i = 0; i < 2; i++) {
            kl__node *into = i == 0 ? requests : most;
            kl__node_iter amounts = {0};
            const kl__node *value;
            const char *name;

            while (type != NULL && strcmp(type, "Container") == 0 &&
                   (value = kl__node_next(sides[i], &amounts, &name, NULL)) !=
                       NULL) {
                if (!kl__sim_put_copy(edit, into, name, value)) {
                    return NULL;
                }
            }
        }
    }
    return most != NULL ? defaults : NULL;
}

static bool apply_defaults(void *context, const kl__node *limits)
{
    defaulting *self = context;
    kl__node *defaults = collect_defaults(self->edit, limits);
    kl__node *spec = kl__node_get(self->root, "spec"), *metadata, *notes_in;
    kl__buf notes = {0};
    bool done = defaults != NULL;

    for (size_t i = 0; done && i < 2; i++) {
        kl__node *list = kl__node_get(spec, container_lists[i]), *container;
        kl__node_iter iter = {0};

        while (done &&
               (container = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
            done =
                fill_container(self->edit, container, defaults, i == 1, &notes);
        }
    }
    if (done && notes.length != 0) {
        char *text = kl__strprintf("LimitRanger plugin set: %s", notes.bytes);

        metadata = kl__node_ensure(self->edit, self->root, "metadata");
        notes_in = kl__node_ensure(self->edit, metadata, "annotations");
        done = text != NULL && notes_in != NULL &&
               kl__sim_put_text(self->edit, notes_in,
                                "kubernetes.io/limit-ranger", text);
        kl__free(text);
    }
    kl__buf_deinit(&notes);
    return done;
}

kl_code kl__sim_limits_default(kl__sim_write *write, kl_error *err)
{
    defaulting self = {write->edit, kl__sim_write_root(write)};

    return concerns_limits(write) && kl__sim_write_is(write, "", "pods")
               ? each_limit(write, &self, apply_defaults, err)
               : KL_OK;
}

/* --- Limits. -------------------------------------------------------------- */

/* One write that is compared with limits, and the faults found. */
typedef struct checking {
    kl__sim_write *write;
    kl__edit *scratch;
    kl__buf faults; /* texts, each followed by a NUL */
    size_t count;
} checking;

/* Requests and limits that are compared with a limit. */
typedef struct demand {
    const char *type; /* the limit's type: "Container" */
    const kl__node *requests;
    const kl__node *limits;
} demand;

static void add_limit_fault(checking *self, const char *text)
{
    size_t at = 0;

    while (at < self->faults.length) { /* list no fault twice */
        if (strcmp(self->faults.bytes + at, text) == 0) {
            return;
        }
        at += strlen(self->faults.bytes + at) + 1;
    }
    kl__buf_append(&self->faults, text, strlen(text) + 1);
    self->count++;
}

static const char *or_none(const char *amount)
{
    return amount != NULL ? amount : "0";
}

static void check_min(checking *self, const demand *of, const char *name,
                      const char *least)
{
    const char *request = kl__amount(of->requests, name);
    const char *limit = kl__amount(of->limits, name);
    kl__buf why = {0};

    kl__buf_printf(&why, "minimum %s usage per %s is %s", name, of->type,
                   least);
    if (request == NULL) {
        kl__buf_puts(&why, ".  No request is specified");
    } else if (kl__quantity_compare(request, least) < 0) {
        kl__buf_printf(&why, ", but request is %s", request);
    } else if (limit != NULL && kl__quantity_compare(limit, least) < 0) {
        kl__buf_printf(&why, ", but limit is %s", limit);
    } else {
        kl__buf_deinit(&why);
        return;
    }
    self->faults.failed |= why.failed;
    add_limit_fault(self, why.failed ? "" : why.bytes);
    kl__buf_deinit(&why);
}

/* Notes a fault if a demand exceeds a maximum. A claim has requests only, so
 * its request is compared like a limit. */
static void check_max(checking *self, const demand *of, const char *name,
                      const char *most)
{
    bool is_claim = of->limits == NULL;
    const char *request = kl__amount(of->requests, name);
    const char *limit = is_claim ? request : kl__amount(of->limits, name);
    kl__buf why = {0};

    kl__buf_printf(&why, "maximum %s usage per %s is %s", name, of->type, most);
    if (limit == NULL) {
        kl__buf_printf(&why, ".  No %s is specified",
                       is_claim ? "request" : "limit");
    } else if (kl__quantity_compare(limit, most) > 0) {
        kl__buf_printf(&why, ", but %s is %s", is_claim ? "request" : "limit",
                       limit);
    } else if (request != NULL && kl__quantity_compare(request, most) > 0) {
        kl__buf_printf(&why, ", but request is %s", request);
    } else {
        kl__buf_deinit(&why);
        return;
    }
    self->faults.failed |= why.failed;
    add_limit_fault(self, why.failed ? "" : why.bytes);
    kl__buf_deinit(&why);
}

static void check_ratio(checking *self, const demand *of, const char *name,
                        const char *most)
{
    const char *request = kl__amount(of->requests, name);
    const char *limit = kl__amount(of->limits, name);
    double ratio = kl__quantity_real(or_none(limit)) /
                   kl__quantity_real(request != NULL ? request : "1");
    kl__buf why = {0};

    kl__buf_printf(&why, "%s max limit to request ratio per %s is %s, but ",
                   name, of->type, most);
    if (kl__quantity_compare(or_none(request), "0") == 0) {
        kl__buf_puts(&why, "no request is specified or request is 0");
    } else if (kl__quantity_compare(or_none(limit), "0") == 0) {
        kl__buf_puts(&why, "no limit is specified or limit is 0");
    } else if (ratio > kl__quantity_real(most)) {
        kl__buf_printf(&why, "provided ratio is %f", ratio);
    } else {
        kl__buf_deinit(&why);
        return;
    }
    self->faults.failed |= why.failed;
    add_limit_fault(self, why.failed ? "" : why.bytes);
    kl__buf_deinit(&why);
}

/* Compares a demand with one limit. */
static void check_demand(checking *self, const kl__node *limit,
                         const demand *of)
{
    static const struct {
        const char *member;
        void (*check)(checking *self, const demand *of, const char *name,
                      const char *amount);
    } bounds[] = {{"min", check_min},
                  {"max", check_max},
                  {"maxLimitRequestRatio", check_ratio}};
    size_t count = of->limits != NULL ? 3 : 2;

    for (size_t i = 0; i < count; i++) {
        const kl__node *list = kl__node_get(limit, bounds[i].member), *value;
        kl__node_iter iter = {0};
        const char *name;

        while ((value = kl__node_next(list, &iter, &name, NULL)) != NULL) {
            bounds[i].check(self, of, name, kl__node_string(value, NULL));
        }
    }
}

static bool check_containers(checking *self, const kl__node *limit)
{
    const kl__node *none = kl__edit_object(self->scratch);

    for (size_t i = 0; i < 2; i++) {
        const kl__node *list =
            kl__node_get(limited_spec_of(self->write), container_lists[i]);
        const kl__node *container;
        kl__node_iter iter = {0};

        while ((container = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
            const kl__node *resources = kl__node_get(container, "resources");
            demand of = {"Container", kl__node_get(resources, "requests"),
                         kl__node_get(resources, "limits")};

            of.limits = of.limits != NULL ? of.limits : none;
            check_demand(self, limit, &of);
        }
    }
    return none != NULL;
}

static bool check_pod(checking *self, const kl__node *limit)
{
    const kl__node *spec = limited_spec_of(self->write);
    demand of = {"Pod", kl__pod_amounts(self->scratch, spec, "requests", false),
                 kl__pod_amounts(self->scratch, spec, "limits", false)};

    if (of.requests == NULL || of.limits == NULL) {
        return false;
    }
    check_demand(self, limit, &of);
    return true;
}

static bool check_limits(void *context, const kl__node *limits)
{
    checking *self = context;
    bool is_pod = kl__sim_write_is(self->write, "", "pods"), done = true;
    kl__node_iter iter = {0};
    const kl__node *limit;

    while (done && (limit = kl__node_next(limits, &iter, NULL, NULL)) != NULL) {
        const char *type = kl__node_text(limit, "type");

        type = type != NULL ? type : "";
        if (is_pod && strcmp(type, "Container") == 0) {
            done = check_containers(self, limit);
        } else if (is_pod && strcmp(type, "Pod") == 0) {
            done = check_pod(self, limit);
        } else if (!is_pod && strcmp(type, "PersistentVolumeClaim") == 0) {
            const demand of = {
                type,
                kl__node_get(
                    kl__node_get(limited_spec_of(self->write), "resources"),
                    "requests"),
                NULL};

            check_demand(self, limit, &of);
        }
    }
    return done && !self->faults.failed;
}

/* Answers 403: one fault alone, or several in brackets. */
static kl_code refuse_limits(checking *self, kl_error *err)
{
    kl__buf why = {0};
    kl_code code;

    kl__buf_puts(&why, self->count > 1 ? "[" : "");
    for (size_t at = 0; at < self->faults.length;
         at += strlen(self->faults.bytes + at) + 1) {
        kl__buf_printf(&why, "%s%s", at != 0 ? ", " : "",
                       self->faults.bytes + at);
    }
    kl__buf_puts(&why, self->count > 1 ? "]" : "");
    code = why.failed ? kl__sim_no_memory(err)
                      : kl__sim_admit_forbid(self->write, why.bytes, err);
    kl__buf_deinit(&why);
    return code;
}

kl_code kl__sim_limits_check(kl__sim_write *write, kl_error *err)
{
    checking self = {.write = write};
    kl_code code;

    if (!concerns_limits(write)) {
        return KL_OK;
    }
    self.scratch = kl__edit_new(err);
    code = self.scratch != NULL ? each_limit(write, &self, check_limits, err)
                                : KL_ENOMEM;
    if (code == KL_OK && self.count != 0) {
        code = refuse_limits(&self, err);
    }
    kl__edit_free(self.scratch);
    kl__buf_deinit(&self.faults);
    return code;
}
