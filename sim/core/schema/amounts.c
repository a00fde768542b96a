/*
 * amounts.c - see amounts.h.
 */
#include "sim/core/schema/amounts.h"

#include "sim/core/schema/quantity.h"

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

static bool add_one(kl__edit *edit, kl__node *list, const char *name,
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

static bool add_amounts(kl__edit *edit, kl__node *list, const kl__node *more)
{
    return each_amount(edit, list, more, add_one);
}

static bool raise_amounts(kl__edit *edit, kl__node *list, const kl__node *least)
{
    return each_amount(edit, list, least, raise_one);
}

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
        return add_amounts(edit, self->sum, own) &&
               add_amounts(edit, self->staying, own) &&
               raise_amounts(edit, self->most, self->staying);
    }
    at_once = kl__edit_object(edit);
    return at_once != NULL && add_amounts(edit, at_once, own) &&
           add_amounts(edit, at_once, self->staying) &&
           raise_amounts(edit, self->most, at_once);
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
        done = add_amounts(edit, sum, amounts_of(container, member));
    }
    list = kl__node_get(spec, "initContainers");
    memset(&iter, 0, sizeof(iter));
    while (done &&
           (container = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        done = begin_container(&first, container);
    }
    return done && raise_amounts(edit, sum, first.most);
}

kl__node *kl__container_amounts(kl__edit *edit, const kl__node *spec,
                                const char *member)
{
    kl__node *sum = kl__edit_object(edit);

    return sum != NULL && add_containers(edit, sum, spec, member) ? sum : NULL;
}
