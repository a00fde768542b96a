/*
 * strategic_order.c - see strategic.h: elements of lists by key, and lists that
 * have a $setElementOrder. Time is linear, except for sorting, also if there
 * are thousands of such lists.
 */
#include "sim/core/patch/strategic.h"

#include "base/mem.h"
#include "sim/core/patch/members.h"

#include <stdlib.h>
#include <string.h>

void kl__keyed_deinit(kl__keyed *list)
{
    kl__free(list->items);
    kl__map_deinit(&list->first);
}

/* The key of an element: the value of its merge key, or the element itself.
 * Texts are borrowed; NULL: *code says why. */
const char *kl__keyed_name(const kl__strategic *job, const char *merge_key,
                           const kl__node *element, size_t *length,
                           kl_code *code)
{
    const kl__node *value = element;
    char *text;

    if (merge_key != NULL) {
        value = kl__node_get(element, merge_key);
        if (value == NULL) {
            *code = kl__patch_refuse(job->err, 500,
                                     "an element of a list does not contain "
                                     "its declared merge key: %s",
                                     merge_key);
            return NULL;
        }
    }
    if (kl__node_is(value, KL_STRING)) {
        return kl__node_string(value, length);
    }
    /* The NUL at the end is a part of the key, so that the number 1 and the
     * string "1" are different keys. */
    text = kl__node_json(value, NULL, NULL);
    if (text != NULL) {
        kl__node *kept;

        *length = strlen(text) + 1;
        kept = kl__edit_text_n(job->edit, text, *length);
        kl__free(text);
        if (kept != NULL) {
            return kl__node_string(kept, length);
        }
    }
    *code = kl__strategic_no_memory(job);
    return NULL;
}

size_t kl__keyed_find(const kl__keyed *list, const char *key, size_t length)
{
    return (size_t)(uintptr_t)kl__map_get_n(&list->first, key, length);
}

/* Appends an element; there must be room. */
kl_code kl__keyed_add(const kl__strategic *job, const char *merge_key,
                      kl__keyed *list, kl__node *element)
{
    kl_code code = KL_OK;
    size_t length;
    const char *key = kl__keyed_name(job, merge_key, element, &length, &code);

    if (key == NULL) {
        return code;
    }
    list->items[list->count++] = element;
    if (kl__keyed_find(list, key, length) == 0) {
        kl__map_put_n(&list->first, key, length, (void *)(uintptr_t)list->count,
                      NULL);
    }
    return KL_OK;
}

/* Lists the elements of an array, with room for more. */
kl_code kl__keyed_init(const kl__strategic *job, const char *merge_key,
                       kl__keyed *list, const kl__node *array, size_t extra)
{
    kl__node_iter iter = {0};
    kl_code code = KL_OK;
    kl__node *element;

    *list = (kl__keyed){.capacity = kl__node_size(array) + extra};
    list->items = kl__calloc(list->capacity + 1, sizeof(kl__node *));
    if (list->items == NULL || !kl__map_reserve(&list->first, list->capacity)) {
        return kl__strategic_no_memory(job);
    }
    while (code == KL_OK &&
           (element = kl__node_next(array, &iter, NULL, NULL)) != NULL) {
        code = kl__keyed_add(job, merge_key, list, element);
    }
    return code;
}

/* --- Ordering. ------------------------------------------------------------ */

typedef struct ranked {
    kl__node *item;
    size_t rank;   /* its place among its run's elements */
    size_t server; /* index + 1 in the server's list; 0: not there */
    size_t index;
} ranked;

static int compare_ranks(const void *a, const void *b)
{
    const ranked *left = a, *right = b;

    if (left->rank != right->rank) {
        return left->rank < right->rank ? -1 : 1;
    }
    return left->index < right->index ? -1 : left->index > right->index;
}

/* Merges two sorted runs. An element of the patch comes before an element that
 * only the server has, unless the server's list had both the other way
 * round. */
static void append_merged(kl__node *array, const ranked *server_only,
                          size_t server_count, const ranked *patched,
                          size_t patched_count)
{
    size_t i = 0, j = 0;

    while (i < server_count || j < patched_count) {
        bool from_server = j == patched_count ||
                           (i < server_count && server_only[i].server != 0 &&
                            patched[j].server != 0 &&
                            server_only[i].server < patched[j].server);

        kl__node_append(array, from_server ? server_only[i++].item
                                           : patched[j++].item);
    }
}

/* Orders the elements of `merged` into `array`. */
kl_code kl__keyed_arrange(const kl__strategic *job, const char *merge_key,
                          kl__node *array, const kl__keyed *merged,
                          const kl__keyed *const orders[2])
{
    ranked *server_only = kl__calloc(merged->count + 1, sizeof(ranked));
    ranked *patched = kl__calloc(merged->count + 1, sizeof(ranked));
    size_t server_count = 0, patched_count = 0;
    kl_code code = KL_OK;

    if (server_only == NULL || patched == NULL) {
        code = kl__strategic_no_memory(job);
    }
    for (size_t i = 0; code == KL_OK && i < merged->count; i++) {
        ranked one = {.item = merged->items[i], .index = i};
        size_t length;
        const char *key =
            kl__keyed_name(job, merge_key, merged->items[i], &length, &code);

        if (key == NULL) {
            break;
        }
        one.server = kl__keyed_find(orders[1], key, length);
        one.rank = kl__keyed_find(orders[0], key, length);
        if (one.rank != 0) {
            patched[patched_count++] = one;
        } else {
            one.rank = one.server != 0 ? one.server : merged->count + 1;
            server_only[server_count++] = one;
        }
    }
    if (code == KL_OK) {
        qsort(patched, patched_count, sizeof(ranked), compare_ranks);
        qsort(server_only, server_count, sizeof(ranked), compare_ranks);
        kl__node_clear(array);
        append_merged(array, server_only, server_count, patched, patched_count);
    }
    kl__free(server_only);
    kl__free(patched);
    return code;
}

/* Checks that all elements of two lists have one type, other than list. */
kl_code kl__strategic_elements(const kl__strategic *job,
                               const kl__node *const sides[2], bool *are_maps)
{
    const kl__node *first = NULL;

    for (int side = 0; side < 2; side++) {
        kl__node_iter iter = {0};
        const kl__node *element;

        while ((element = kl__node_next(sides[side], &iter, NULL, NULL)) !=
               NULL) {
            if (kl__node_is(element, KL_ARRAY)) {
                return kl__patch_refuse(job->err, 422,
                                        "lists of lists are not supported");
            }
            if (first != NULL && !kl__strategic_is_alike(first, element)) {
                return kl__patch_refuse(job->err, 500,
                                        "list element types are not identical");
            }
            first = element;
            *are_maps = kl__node_is(element, KL_OBJECT);
        }
    }
    return KL_OK;
}

/* --- Lists with a $setElementOrder. --------------------------------------- */

/* Sorts `merged` by `order`; elements that it does not list, by `server` (the
 * list before; may be NULL). */
static kl_code sort_list(const kl__strategic *job,
                         const kl__strategic_list *list, kl__node *merged,
                         kl__node *order, kl__node *server)
{
    const kl__node *const sides[2] = {merged, server};
    kl__keyed items = {0}, wanted = {0}, before = {0};
    const kl__keyed *const orders[2] = {&wanted, &before};
    bool are_maps = false;
    const char *key = list->merge_key;
    kl_code code = kl__strategic_elements(job, sides, &are_maps);

    if (!are_maps) {
        key = NULL;
    }
    if (code == KL_OK) {
        code = kl__keyed_init(job, key, &items, merged, 0);
    }
    if (code == KL_OK) {
        code = kl__keyed_init(job, key, &wanted, order, 0);
    }
    if (code == KL_OK) {
        code = kl__keyed_init(job, key, &before, server, 0);
    }
    if (code == KL_OK) {
        code = kl__keyed_arrange(job, key, merged, &items, orders);
    }
    kl__keyed_deinit(&items);
    kl__keyed_deinit(&wanted);
    kl__keyed_deinit(&before);
    return code;
}

/* Checks that a patch's list has the order of its $setElementOrder. */
static kl_code check_order(const kl__strategic *job,
                           const kl__strategic_list *list, kl__node *patch,
                           kl__node *order)
{
    kl__node_iter at = {0}, at_order = {0};
    kl__node *element, *wanted = NULL;
    kl_code code = KL_OK;
    size_t length, other;

    if (kl__node_size(patch) == 0 || kl__node_size(order) == 0) {
        return KL_OK;
    }
    while ((element = kl__node_next(patch, &at, NULL, NULL)) != NULL) {
        const char *merge_key =
            kl__node_is(element, KL_OBJECT) ? list->merge_key : NULL;
        const char *key, *found = NULL;

        if (kl__node_get(element, "$patch") != NULL) {
            continue;
        }
        key = kl__keyed_name(job, merge_key, element, &length, &code);
        while (key != NULL && found == NULL &&
               (wanted = kl__node_next(order, &at_order, NULL, NULL)) != NULL) {
            found = kl__keyed_name(job, merge_key, wanted, &other, &code);
            if (found == NULL) {
                return code;
            }
            if (other != length || memcmp(found, key, length) != 0) {
                found = NULL;
            }
        }
        if (found == NULL) {
            return code != KL_OK
                       ? code
                       : kl__patch_refuse(job->err, 500,
                                          "The order in patch list doesn't "
                                          "match $setElementOrder list");
        }
    }
    return KL_OK;
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
    return sort_list(job, &lists->list, merged, lists->order, server);
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
            return kl__patch_refuse(job->err, 500,
                                    "a list and its order must be lists");
        }
    }
    code = check_order(job, &lists->list, lists->patch, lists->order);
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
