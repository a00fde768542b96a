/*
 * edit_read.c - see edit.h: reads and compares nodes.
 */
#include "base/map.h"
#include "sim/core/json/edit.h"
#include "json/yyjson_memory.h"

#include <string.h>

enum { FEW_MEMBERS = 16 };

static yyjson_mut_val *of(const kl__node *node)
{
    return (yyjson_mut_val *)(uintptr_t)node;
}

static kl__node *from(yyjson_mut_val *value)
{
    return (kl__node *)value;
}

kl_type kl__node_type(const kl__node *node)
{
    yyjson_mut_val *value = of(node);

    switch (yyjson_mut_get_type(value)) {
    case YYJSON_TYPE_BOOL:
        return KL_BOOL;
    case YYJSON_TYPE_NUM:
        if (yyjson_mut_is_real(value)) {
            return KL_REAL;
        }
        return yyjson_mut_is_uint(value) &&
                       yyjson_mut_get_uint(value) > INT64_MAX
                   ? KL_UNSIGNED
                   : KL_INTEGER;
    case YYJSON_TYPE_RAW:
        return KL_NUMBER;
    case YYJSON_TYPE_STR:
        return KL_STRING;
    case YYJSON_TYPE_ARR:
        return KL_ARRAY;
    case YYJSON_TYPE_OBJ:
        return KL_OBJECT;
    default:
        return KL_NULL;
    }
}

bool kl__node_is(const kl__node *node, kl_type type)
{
    return node != NULL && kl__node_type(node) == type;
}

bool kl__node_bool(const kl__node *node)
{
    return yyjson_mut_get_bool(of(node));
}

int64_t kl__node_integer(const kl__node *node)
{
    return kl__node_type(node) == KL_INTEGER ? yyjson_mut_get_sint(of(node))
                                             : 0;
}

uint64_t kl__node_unsigned(const kl__node *node)
{
    bool is_positive =
        yyjson_mut_is_uint(of(node)) ||
        (yyjson_mut_is_sint(of(node)) && yyjson_mut_get_sint(of(node)) >= 0);

    return is_positive ? yyjson_mut_get_uint(of(node)) : 0;
}

double kl__node_real(const kl__node *node)
{
    return yyjson_mut_get_num(of(node));
}

const char *kl__node_string(const kl__node *node, size_t *length)
{
    yyjson_mut_val *value = of(node);
    bool has_text = yyjson_mut_is_str(value) || yyjson_mut_is_raw(value);

    if (length != NULL) {
        *length = has_text ? yyjson_mut_get_len(value) : 0;
    }
    return has_text ? value->uni.str : NULL;
}

size_t kl__node_size(const kl__node *node)
{
    return yyjson_mut_is_ctn(of(node)) ? yyjson_mut_get_len(of(node)) : 0;
}

kl__node *kl__node_at(const kl__node *array, size_t index)
{
    return from(yyjson_mut_arr_get(of(array), index));
}

kl__node *kl__node_get_n(const kl__node *object, const char *name,
                         size_t length)
{
    yyjson_mut_val *key;
    size_t count;

    if (!kl__node_is(object, KL_OBJECT)) {
        return NULL;
    }
    /* An object is a ring of keys and values, entered at its last key.
     * yyjson_mut_obj_getn is not used: if a name is repeated, it returns the
     * last member. */
    count = yyjson_mut_get_len(of(object));
    key = of(object)->uni.ptr;
    for (size_t i = 0; i < count; i++) {
        key = key->next->next;
        if (yyjson_mut_get_len(key) == length &&
            memcmp(key->uni.str, name, length) == 0) {
            return from(key->next);
        }
    }
    return NULL;
}

kl__node *kl__node_get(const kl__node *object, const char *name)
{
    return kl__node_get_n(object, name, strlen(name));
}

const char *kl__node_text(const kl__node *object, const char *name)
{
    const kl__node *member = kl__node_get(object, name);

    return kl__node_is(member, KL_STRING) ? kl__node_string(member, NULL)
                                          : NULL;
}

kl__node *kl__node_find(const kl__node *object, const char *const *names)
{
    kl__node *node = (kl__node *)(uintptr_t)object;

    for (; node != NULL && *names != NULL; names++) {
        node = kl__node_get(node, *names);
    }
    return node;
}

/* --- Iteration. One iterator serves for yyjson's iterators of arrays and of
 * objects: both have these five members.  */

static kl__node *next_element(const kl__node *node, kl__node_iter *iter)
{
    yyjson_mut_arr_iter at = {iter->index, iter->count, iter->current,
                              iter->previous, iter->within};
    yyjson_mut_val *value;

    if (iter->within == NULL && !yyjson_mut_arr_iter_init(of(node), &at)) {
        return NULL;
    }
    value = yyjson_mut_arr_iter_next(&at);
    *iter = (kl__node_iter){at.idx, at.max, at.cur, at.pre, at.arr};
    return from(value);
}

static kl__node *next_member(const kl__node *node, kl__node_iter *iter,
                             const char **name, size_t *length)
{
    yyjson_mut_val *key;

    if (iter->within == NULL) {
        iter->within = of(node);
        iter->count = yyjson_mut_get_len(of(node));
        iter->current = iter->count > 0 ? of(node)->uni.ptr : NULL;
    }
    if (iter->index >= iter->count) {
        return NULL;
    }
    iter->index++;
    key = iter->previous = iter->current;
    key = iter->current = key->next->next;
    if (name != NULL) {
        *name = key->uni.str;
    }
    if (length != NULL) {
        *length = yyjson_mut_get_len(key);
    }
    return from(key->next);
}

kl__node *kl__node_next(const kl__node *node, kl__node_iter *iter,
                        const char **name, size_t *length)
{
    if (yyjson_mut_is_obj(of(node))) {
        return next_member(node, iter, name, length);
    }
    return yyjson_mut_is_arr(of(node)) ? next_element(node, iter) : NULL;
}

void kl__node_drop(kl__node_iter *iter)
{
    if (yyjson_mut_is_obj(iter->within)) {
        yyjson_mut_obj_iter at = {iter->index, iter->count, iter->current,
                                  iter->previous, iter->within};

        yyjson_mut_obj_iter_remove(&at);
        *iter = (kl__node_iter){at.idx, at.max, at.cur, at.pre, at.obj};
    } else {
        yyjson_mut_arr_iter at = {iter->index, iter->count, iter->current,
                                  iter->previous, iter->within};

        yyjson_mut_arr_iter_remove(&at);
        /* yyjson 0.10 would skip the element after the removed one. */
        at.cur = at.pre;
        *iter = (kl__node_iter){at.idx, at.max, at.cur, at.pre, at.arr};
    }
}

/* The depth of a node, or `most` + 1 if it is deeper. */
static size_t depth_within(const kl__node *node, size_t most)
{
    kl__node_iter iter = {0};
    const kl__node *child;
    size_t deepest = 0;

    if (!yyjson_mut_is_ctn(of(node))) {
        return 0;
    }
    if (most == 0) {
        return 1;
    }
    while ((child = kl__node_next(node, &iter, NULL, NULL)) != NULL) {
        size_t depth = depth_within(child, most - 1);

        deepest = depth > deepest ? depth : deepest;
    }
    return deepest + 1;
}

size_t kl__node_depth(const kl__node *node)
{
    return depth_within(node, KL__NODE_DEPTH);
}

/* --- Comparing. ----------------------------------------------------------- */

static bool equal_elements(const kl__node *a, const kl__node *b)
{
    kl__node_iter at_a = {0}, at_b = {0};
    const kl__node *element;

    while ((element = kl__node_next(a, &at_a, NULL, NULL)) != NULL) {
        if (!kl__node_equal(element, kl__node_next(b, &at_b, NULL, NULL))) {
            return false;
        }
    }
    return true;
}

/* Makes a map of members by name for large objects. The map stays empty for
 * small objects, or if memory runs out. */
static void index_members(kl__map *map, const kl__node *object)
{
    kl__node_iter iter = {0};
    const char *name;
    size_t length;
    kl__node *value;

    if (kl__node_size(object) <= FEW_MEMBERS ||
        !kl__map_reserve(map, kl__node_size(object))) {
        return;
    }
    while ((value = kl__node_next(object, &iter, &name, &length)) != NULL) {
        if (kl__map_get_n(map, name, length) == NULL) {
            kl__map_put_n(map, name, length, value, NULL);
        }
    }
}

static bool equal_members(const kl__node *a, const kl__node *b)
{
    kl__node_iter iter = {0};
    const kl__node *value;
    kl__map others = {0};
    const char *name = NULL;
    size_t length = 0;
    bool equal = true;

    index_members(&others, b);
    while (equal && (value = kl__node_next(a, &iter, &name, &length)) != NULL) {
        const kl__node *other = others.count != 0
                                    ? kl__map_get_n(&others, name, length)
                                    : kl__node_get_n(b, name, length);

        equal = other != NULL && kl__node_equal(value, other);
    }
    kl__map_deinit(&others);
    return equal;
}

bool kl__node_equal(const kl__node *a, const kl__node *b)
{
    kl_type type = kl__node_type(a);

    if (type != kl__node_type(b)) {
        return false;
    }
    switch (type) {
    case KL_ARRAY:
        return kl__node_size(a) == kl__node_size(b) && equal_elements(a, b);
    case KL_OBJECT:
        return kl__node_size(a) == kl__node_size(b) && equal_members(a, b);
    case KL_NULL:
        return true;
    case KL_REAL:
        return !(kl__node_real(a) < kl__node_real(b)) &&
               !(kl__node_real(a) > kl__node_real(b));
    default:
        return yyjson_mut_equals(of(a), of(b));
    }
}

static bool is_among(const char *name, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (strcmp(name, *names) == 0) {
            return true;
        }
    }
    return false;
}

bool kl__node_equal_but(const kl__node *a, const kl__node *b,
                        const char *const *names)
{
    const kl__node *sides[2] = {a, b};

    if (!kl__node_is(a, KL_OBJECT) && !kl__node_is(b, KL_OBJECT)) {
        return kl__node_equal(a, b);
    }
    for (int side = 0; side < 2; side++) {
        kl__node_iter iter = {0};
        const kl__node *value;
        const char *name;

        while (kl__node_is(sides[side], KL_OBJECT) &&
               (value = kl__node_next(sides[side], &iter, &name, NULL)) !=
                   NULL) {
            if (!is_among(name, names) &&
                !kl__node_equal(value, kl__node_get(sides[1 - side], name))) {
                return false;
            }
        }
    }
    return true;
}

bool kl__node_holds(const kl__node *list, const char *text)
{
    kl__node_iter iter = {0};
    const kl__node *element;

    while ((element = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        const char *found = kl__node_string(element, NULL);

        if (found != NULL && text != NULL && strcmp(found, text) == 0) {
            return true;
        }
    }
    return false;
}
