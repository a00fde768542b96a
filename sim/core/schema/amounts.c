/*
 * amounts.c - see amounts.h.
 */
#include "sim/core/schema/amounts.h"

#include "base/mem.h"
#include "sim/core/schema/quantity.h"

#include <stdlib.h>
#include <string.h>

const char *kl__amount(const kl__node *list, const char *name)
{
    return kl__node_text(list, name);
}

bool kl__amount_put(kl__edit *edit, kl__node *list, const char *name,
                    const char *amount)
{
    return kl__node_put(edit, list, name, kl__edit_text(edit, amount));
}

bool kl__amount_add(kl__edit *edit, kl__node *list, const char *name,
                    const char *amount)
{
    const char *before = kl__amount(list, name);
    char sum[KL__QUANTITY_SIZE];

    if (before == NULL) {
        return kl__amount_put(edit, list, name, amount);
    }
    kl__quantity_add(before, amount, sum);
    return kl__amount_put(edit, list, name, sum);
}

/* Calls `put` with each amount of `from`; stops when it returns false. */
static bool each_amount(kl__edit *edit, kl__node *list, const kl__node *from,
                        bool (*put)(kl__edit *edit, kl__node *list,
                                    const char *name, const char *amount))
{
    kl__node_iter iter = {0};
    const kl__node *value;
    const char *name;
    bool done = true;

    while (done && (value = kl__node_next(from, &iter, &name, NULL)) != NULL) {
        const char *amount = kl__node_string(value, NULL);

        done = amount == NULL || put(edit, list, name, amount);
    }
    return done;
}

static bool raise_one(kl__edit *edit, kl__node *list, const char *name,
                      const char *amount)
{
    const char *before = kl__amount(list, name);

    return (before != NULL && kl__quantity_compare(before, amount) >= 0) ||
           kl__amount_put(edit, list, name, amount);
}

static bool lower_one(kl__edit *edit, kl__node *list, const char *name,
                      const char *amount)
{
    const char *before = kl__amount(list, name);
    char rest[KL__QUANTITY_SIZE] = "0";

    if (before != NULL && kl__quantity_compare(before, amount) > 0) {
        kl__quantity_subtract(before, amount, rest);
    }
    return kl__amount_put(edit, list, name, rest);
}

bool kl__amounts_add(kl__edit *edit, kl__node *list, const kl__node *more)
{
    return each_amount(edit, list, more, kl__amount_add);
}

bool kl__amounts_raise(kl__edit *edit, kl__node *list, const kl__node *least)
{
    return each_amount(edit, list, least, raise_one);
}

bool kl__amounts_lower(kl__edit *edit, kl__node *list, const kl__node *less)
{
    return each_amount(edit, list, less, lower_one);
}

/* --- Printing. ------------------------------------------------------------ */

static int compare_amount_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void kl__amounts_print(const kl__node *list, kl__buf *out)
{
    size_t count = kl__node_size(list), at = 0;
    const char **names = kl__calloc(count + 1, sizeof(*names));
    kl__node_iter iter = {0};

    if (names == NULL) {
        out->failed = true;
        return;
    }
    while (at < count && kl__node_next(list, &iter, &names[at], NULL) != NULL) {
        at++;
    }
    qsort(names, at, sizeof(*names), compare_amount_names);
    for (size_t i = 0; i < at; i++) {
        kl__buf_printf(out, "%s%s=%s", i != 0 ? "," : "", names[i],
                       kl__amount(list, names[i]));
    }
    kl__free(names);
}

/* --- Pods. ---------------------------------------------------------------- */

static bool is_restarted(const kl__node *container)
{
    const char *policy = kl__node_text(container, "restartPolicy");

    return policy != NULL && strcmp(policy, "Always") == 0;
}

static const kl__node *amounts_of(const kl__node *holder, const char *member)
{
    return kl__node_get(kl__node_get(holder, "resources"), member);
}

/* Sums for the init containers of a pod, which run one after the other. A
 * sidecar is an init container that runs on beside the later containers. */
typedef struct beginning {
    kl__edit *edit;
    const char *member;
    kl__node *sum;     /* what the main containers and the sidecars need */
    kl__node *staying; /* what the sidecars so far need */
    kl__node *most;    /* the most that is needed at any time so far */
} beginning;

/* Adds what an init container needs while it runs beside the sidecars so
 * far. */
static bool begin_container(const beginning *self, const kl__node *container)
{
    const kl__node *own = amounts_of(container, self->member);
    kl__edit *edit = self->edit;
    kl__node *at_once;

    if (is_restarted(container)) {
        return kl__amounts_add(edit, self->sum, own) &&
               kl__amounts_add(edit, self->staying, own) &&
               kl__amounts_raise(edit, self->most, self->staying);
    }
    at_once = kl__edit_object(edit);
    return at_once != NULL && kl__amounts_add(edit, at_once, own) &&
           kl__amounts_add(edit, at_once, self->staying) &&
           kl__amounts_raise(edit, self->most, at_once);
}

static bool add_containers(kl__edit *edit, kl__node *sum, const kl__node *spec,
                           const char *member)
{
    const kl__node *list = kl__node_get(spec, "containers"), *container;
    const beginning first = {edit, member, sum, kl__edit_object(edit),
                             kl__edit_object(edit)};
    kl__node_iter iter = {0};
    bool done = first.staying != NULL && first.most != NULL;

    while (done &&
           (container = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        done = kl__amounts_add(edit, sum, amounts_of(container, member));
    }
    list = kl__node_get(spec, "initContainers");
    memset(&iter, 0, sizeof(iter));
    while (done &&
           (container = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        done = begin_container(&first, container);
    }
    return done && kl__amounts_raise(edit, sum, first.most);
}

/* Replaces the sums of cpu and memory by the pod's own amounts, if it has
 * them. */
static bool put_own(kl__edit *edit, kl__node *sum, const kl__node *spec,
                    const char *member)
{
    static const char *const names[] = {"cpu", "memory"};
    const kl__node *own = amounts_of(spec, member);

    for (size_t i = 0; i < 2; i++) {
        const char *amount = kl__amount(own, names[i]);

        if (amount != NULL && !kl__amount_put(edit, sum, names[i], amount)) {
            return false;
        }
    }
    return true;
}

/* Adds the overhead of the pod: to all requests, but only to limits that are
 * set. */
static bool add_overhead(kl__edit *edit, kl__node *sum, const kl__node *spec,
                         const char *member)
{
    const kl__node *overhead = kl__node_get(spec, "overhead"), *value;
    kl__node_iter iter = {0};
    const char *name;

    while ((value = kl__node_next(overhead, &iter, &name, NULL)) != NULL) {
        const char *before = kl__amount(sum, name);
        bool counts = strcmp(member, "requests") == 0 ||
                      (before != NULL && strcmp(before, "0") != 0);

        if (counts &&
            !kl__amount_add(edit, sum, name, kl__node_string(value, NULL))) {
            return false;
        }
    }
    return true;
}

kl__node *kl__container_amounts(kl__edit *edit, const kl__node *spec,
                                const char *member)
{
    kl__node *sum = kl__edit_object(edit);

    return sum != NULL && add_containers(edit, sum, spec, member) ? sum : NULL;
}

kl__node *kl__pod_amounts(kl__edit *edit, const kl__node *spec,
                          const char *member, bool overhead)
{
    kl__node *sum = kl__container_amounts(edit, spec, member);

    return sum != NULL && put_own(edit, sum, spec, member) &&
                   (!overhead || add_overhead(edit, sum, spec, member))
               ? sum
               : NULL;
}
