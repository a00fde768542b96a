/*
 * strategic_orders.c - see strategic.h: merges and sorts lists that have a
 * $setElementOrder, in linear time also if there are thousands of them.
 */
#include "sim/core/patch/strategic.h"

#include "sim/core/patch/go_text.h"
#include "sim/core/patch/members.h"

static kl_code refuse_type(const kl__strategic *job, const char *received)
{
    return kl__patch_refuse(job->err, 500,
                            "expected a []interface {}, but received a %s",
                            received);
}

/* The lists of one $setElementOrder. */
typedef struct ordered {
    kl__strategic_list list;
    kl__node *original; /* NULL: none */
    kl__node *patch;    /* already removed from the patch; NULL: none */
    kl__node *order;
} ordered;

/* Merges the patch's list into `merged`, and sorts the result. A copy of the
 * old list keeps the order that the server had. */
static kl_code merge_ordered(const kl__strategic *job, ordered *lists,
                             kl__node *merged)
{
    kl__node *server = NULL;
    kl_code code;

    if (lists->original != NULL) {
        server = kl__edit_copy(job->edit, lists->original);
        if (server == NULL) {
            return kl__strategic_no_memory(job);
        }
    }
    if (lists->original != NULL && lists->patch != NULL) {
        if (!lists->list.merges) {
            kl__node_become(merged, lists->patch);
        } else {
            code = kl__strategic_slice(job, &lists->list, merged, lists->patch);
            if (code != KL_OK) {
                return code;
            }
        }
    }
    return kl__strategic_order(job, &lists->list, merged, lists->order, server);
}

/* Carries out one $setElementOrder/name; if the object had no such list, it
 * gets the list of the patch. */
static kl_code order_one(const kl__strategic *job, ordered *lists,
                         kl__node *original, const kl__member_name *name)
{
    const kl__node *const all[3] = {lists->order, lists->original,
                                    lists->patch};
    kl_code code;

    for (int i = 0; i < 3; i++) {
        if (all[i] != NULL && !kl__node_is(all[i], KL_ARRAY)) {
            return refuse_type(job, kl__go_type(all[i]));
        }
    }
    code = kl__strategic_check_order(job, &lists->list, lists->patch,
                                     lists->order);
    if (code != KL_OK || (lists->original == NULL && lists->patch == NULL)) {
        return code;
    }
    if (kl__node_size(lists->original) == 0 &&
        kl__node_size(lists->patch) == 0) {
        return kl__patch_refuse(job->err, 500,
                                "no elements in any of the given slices");
    }
    if (lists->original == NULL) {
        kl__strategic_strip(lists->patch);
        if (!kl__node_add_n(job->edit, original, name->text, name->length,
                            lists->patch)) {
            return kl__strategic_no_memory(job);
        }
        return merge_ordered(job, lists, lists->patch);
    }
    return merge_ordered(job, lists, lists->original);
}

/* Moves the $setElementOrder members of a patch to `orders`, by the names of
 * their lists. */
static kl_code take_orders(const kl__strategic *job, kl__node *patch,
                           kl__node *orders)
{
    kl__node_iter iter = {0};
    kl__node *value;
    const char *name;
    size_t length;

    while ((value = kl__node_next(patch, &iter, &name, &length)) != NULL) {
        if (!kl__strategic_is(name, length, KL__SET_ELEMENT_ORDER)) {
            continue;
        }
        kl__node_drop(&iter);
        name = kl__strategic_about(name, &length, KL__SET_ELEMENT_ORDER);
        if (name == NULL) {
            return kl__patch_refuse(
                job->err, 400, "invalid patch format of setElementOrder list");
        }
        if (!kl__node_add_n(job->edit, orders, name, length, value)) {
            return kl__strategic_no_memory(job);
        }
    }
    return KL_OK;
}

/* Moves the lists that have an order from a patch to a map, which has room. */
static void take_ordered(kl__node *patch, const kl__node *orders,
                         kl__map *lists)
{
    kl__node_iter iter = {0};
    kl__members named;
    kl__node *value;
    const char *name;
    size_t length;

    kl__members_init(&named, orders);
    while ((value = kl__node_next(patch, &iter, &name, &length)) != NULL) {
        if (kl__members_get(&named, name, length) != NULL) {
            kl__node_drop(&iter);
            kl__map_put_n(lists, name, length, value, NULL);
        }
    }
    kl__members_deinit(&named);
}

/* Merges each list that has an order. */
static kl_code merge_all_ordered(const kl__strategic *job,
                                 const kl__schema *schema, kl__node *original,
                                 const kl__node *orders, const kl__map *lists)
{
    kl__node_iter iter = {0};
    kl__members before;
    kl_code code = KL_OK;
    kl__member_name name;
    kl__node *order;

    kl__members_init(&before, original);
    while (code == KL_OK && (order = kl__node_next(orders, &iter, &name.text,
                                                   &name.length)) != NULL) {
        ordered one = {
            .list = kl__strategic_list_of(kl__strategic_member(schema, &name)),
            .original = kl__members_get(&before, name.text, name.length),
            .patch = kl__map_get_n(lists, name.text, name.length),
            .order = order};

        code = order_one(job, &one, original, &name);
    }
    kl__members_deinit(&before);
    return code;
}

kl_code kl__strategic_orders(const kl__strategic *job, const kl__schema *schema,
                             kl__node *original, kl__node *patch)
{
    kl__node *orders = kl__edit_object(job->edit);
    kl__map lists = {0};
    kl_code code;

    if (orders == NULL) {
        return kl__strategic_no_memory(job);
    }
    code = take_orders(job, patch, orders);
    if (code != KL_OK || kl__node_size(orders) == 0) {
        return code;
    }
    if (!kl__map_reserve(&lists, kl__node_size(orders))) {
        return kl__strategic_no_memory(job);
    }
    take_ordered(patch, orders, &lists);
    code = merge_all_ordered(job, schema, original, orders, &lists);
    kl__map_deinit(&lists);
    return code;
}
